/* weft run: deck in; fields computed, checkpointed, verified; table and record out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cmd.h"
#include "base/machine.h"
#include "config/request.h"
#include "core/fp.h"
#include "device/nvtx.h"
#include "plan/plan.h"
#include "ranks/check.h"
#include "ranks/ranks.h"
#include "report/report.h"
#include "run/loop.h"
#include "run/watchdog.h"

/* Everything of one run that outlives a function. */
typedef struct run {
    request ask;
    sim sim;
    bool entered; /* a range of a profiler is open */
    clock_steps ticks;
    saver checkpoints;
    report report;
    double start_s;              /* when this command began */
    double power[POWER_NUMBERS]; /* of this rank's GPU, beside the loop */
} run;

/* The run's next part, for the watchdog and for a profiler; NULL: none follows. */
static void enter(run *r, const char *phase)
{
    fp_default();
    if (r->entered) nvtx_end();
    r->entered = phase != NULL;
    if (r->entered) nvtx_begin(phase);
    watchdog_phase(phase ? phase : "leaving");
}

static int fail(int status, const char *why) { return cmd_say(status, "%s", why); }

/* Level 0, or the level of a state file. */
static int start_level(run *r, sentence *why)
{
    sim *s = &r->sim;
    int64_t loaded = -1;
    if (r->ask.restart) {
        const state_status status = restart(s, &r->ask, &loaded, why);
        if (status != STATE_OK) return state_exit(status);
        if (loaded >= 0) watchdog_checkpoint(r->ask.restart, loaded);
        if (loaded >= 0 && !r->ask.quiet)
            cmd_say(0, "restarted from step %lld%s", (long long)s->level,
                    s->level == s->cfg->time.steps ? ", which is time.steps: no step remains" : "");
        if (loaded < 0) cmd_say(0, "no checkpoint in %s; starting at step 0", r->ask.restart);
    }
    return loaded >= 0 ? 0 : sim_initialise(s, why);
}

/* Reduces the numbers of all ranks. A checkpoint's seconds are those of its slowest rank. */
static void gather_report(run *r)
{
    sim *s = &r->sim;
    const MPI_Comm comm = s->top.comm;
    report *out = &r->report;
    double *const spent_s = s->phase_s;
    enum { CHECKPOINTS = POWER_NUMBERS, MOVED = CHECKPOINTS + 4, MEAN, NUMBERS };
    double mine[NUMBERS];
    timer_spread of[NUMBERS];
    double *const seconds[] = { &out->checkpoints.snapshot_s, &out->checkpoints.write_s,
                                &out->checkpoints.verify_s, &out->checkpoints.stall_s };
    const clock_steps *t = &r->ticks;
    out->steps.rank = s->top.rank;
    snprintf(out->steps.host, sizeof out->steps.host, "%s", s->top.host);
    out->steps.s = timer_percentiles_of(t->sample_s, t->samples);
    out->steps.histogram = timer_histogram_of(t->sample_s, t->samples, out->steps.s.min, out->steps.s.max);
    /* of all steps, kept or not */
    if (t->total_steps > 0) out->steps.s.mean = t->total_s / (double)t->total_steps;
    const state_writer *const w = r->checkpoints.writer[SAVER_CHECKPOINTS];
    if (w) out->checkpoints = state_writer_stats(w);
    const double steps_run = (double)out->loop.steps_run;
    spent_s[PHASE_CHECKPOINT] = out->checkpoints.stall_s;
    spent_s[PHASE_STEPS] =
        spent_s[PHASE_LOOP] - spent_s[PHASE_NORM] - spent_s[PHASE_CHECKPOINT] - spent_s[PHASE_SERIES];
    timer_spreads(spent_s, out->phase, PHASES, comm);
    memcpy(mine, r->power, sizeof r->power);
    for (int i = 0; i < 4; i++) mine[CHECKPOINTS + i] = *seconds[i];
    mine[MOVED] = sim_bytes_moved_per_pass(s) * (double)s->passes;
    mine[MEAN] = t->total_steps > 0 ? out->steps.s.mean : 0;
    timer_spreads(mine, of, NUMBERS, comm);
    for (int i = 0; i < 4; i++) *seconds[i] = of[CHECKPOINTS + i].max;
    out->power =
        power_of(of, spent_s[PHASE_LOOP], (double)s->cfg->grid.nx * (double)s->cfg->grid.ny * steps_run);
    out->bytes_moved_per_step = of[MOVED].sum / steps_run;
    MPI_CHECK(ranks_bcast(&out->steps, sizeof out->steps, MPI_BYTE, of[MEAN].max_rank, comm));
}

/* Prints the notes on keys that the deck sets; the table has the others. */
static void say_notes(const sim *s, int from)
{
    for (int i = from; i < s->plan.notes; i++)
        if (s->plan.note[i].asked) cmd_say(0, "%s", s->plan.note[i].said.text);
}

/* Notes a tolerance that was not reached, and cells that are no numbers. */
static void note_results(sim *s, const loop_result *l)
{
    const double tolerance = s->cfg->time.tolerance;
    int64_t x, y;
    char since[96] = "time.norm_every finds the step";
    const int64_t count = sim_cells_not_finite(s, &x, &y);
    if (tolerance > 0 && l->end == LOOP_DONE && !(l->last_change <= tolerance))
        plan_add_note(&s->plan, true,
                      "not converged after %lld steps: max |next - u| is %.3g, time.tolerance %.3g",
                      (long long)s->level, l->last_change, tolerance);
    if (l->infinite_level >= 0)
        snprintf(since, sizeof since, "level %lld is the first checked one that has them",
                 (long long)l->infinite_level);
    if (count > 0)
        plan_add_note(&s->plan, true,
                      "%lld of %lld cells are NaN or infinite, the first at x = %lld, y = %lld; %s",
                      (long long)count, (long long)(s->cfg->grid.nx * s->cfg->grid.ny), (long long)x,
                      (long long)y, since);
}

/* From the end of the loop to the exit status. */
static int finish(run *r, sentence *why)
{
    sim *s = &r->sim;
    const loop_result *l = &r->report.loop;
    double mark_s = timer_now_s();
    enter(r, "output");
    const bool written = saver_end(&r->checkpoints, why) &&
                         (!r->ticks.timeline || clock_trace(&r->ticks, s->cfg->output.trace, why));
    int status = written ? 0 : fail(CHECK_EXIT_ENVIRONMENT, why->text);
    s->phase_s[PHASE_OUTPUT] = timer_lap_s(&mark_s);
    enter(r, "verify");
    sim_inject_fault(s);
    r->report.fingerprint = sim_fingerprint(s);
    r->report.verdict = verify_level(s);
    s->phase_s[PHASE_VERIFY] = timer_lap_s(&mark_s);
    s->phase_s[PHASE_RUN] = mark_s - r->start_s;
    gather_report(r);
    const int notes = s->plan.notes;
    note_results(s, l);
    say_notes(s, notes);
    const bool recorded = report_record(s, &r->report, r->ask.deck_text, why);
    if (!r->ask.quiet) report_print(s, &r->report);
    if (!recorded) status = fail(CHECK_EXIT_ENVIRONMENT, why->text);
    /* Wins over an output that could not be written: the checkpoint is there, and the run that goes on
     * from it looks at its outputs first. */
    if (l->end == LOOP_STOPPED || l->end == LOOP_OUT_OF_TIME)
        return cmd_say(CHECK_EXIT_REQUEUE, "stopped by %s at step %lld; continue with --restart %s",
                       l->end == LOOP_STOPPED ? "a signal" : "its time limit", (long long)s->level,
                       s->cfg->checkpoint.dir);
    if (status != 0) return status;
    return r->report.verdict.verdict == VERIFY_FAILED ? CHECK_EXIT_FAILED : 0;
}

static int run_it(run *r)
{
    sentence why = { "" };
    sim *s = &r->sim;
    r->checkpoints = (saver){ .sim = s, .ticks = &r->ticks, .deck_text = r->ask.deck_text };
    watchdog_start(r->ask.cfg.run.stall_limit_s, false);
    double mark_s = timer_now_s();
    int status = sim_create(s, &r->ask.cfg, !r->ask.dry_run, &why);
    if (status != 0) return fail(status, why.text);
    s->phase_s[PHASE_MPI] = mark_s - r->start_s;
    const char *const ignored = r->ask.ignored.text;
    if (ignored[0])
        plan_add_note(&s->plan, true, "not used by this kind, grid and initial value: %s", ignored);
    status = saver_check_folders(&r->checkpoints, &why);
    if (status != 0) return fail(status, why.text);
    if (r->ask.dry_run) {
        status = dry_run(s, &r->ask, &why);
        return status == 0 ? 0 : fail(status, why.text);
    }
    say_notes(s, 0);
    if (!r->ask.quiet) report_print_head(s, &r->report);
    enter(r, "tune");
    sim_trial_choose_variant(s);
    mark_s = timer_now_s();
    sim_prepare_steps(s); /* of the variant just chosen */
    enter(r, "calibrate");
    (void)nvml_read(s->dev->uuid); /* the first call opens the library, which takes a tenth of a second:
                                    * not beside the loop */
    r->report.calibration = calibrate(s);
    s->phase_s[PHASE_CALIBRATE] = timer_lap_s(&mark_s);
    enter(r, "initialise");
    const int notes = s->plan.notes;
    status = start_level(r, &why);
    say_notes(s, notes);
    s->phase_s[PHASE_INITIALISE] = timer_lap_s(&mark_s);
    if (status == 0) status = saver_open(&r->checkpoints, r->ask.restart != NULL, &why);
    s->phase_s[PHASE_WRITER] = timer_lap_s(&mark_s);
    if (status != 0) return fail(status, why.text);

    const bool traced = s->cfg->output.trace[0] && s->kind->transposes == 0;
    clock_create(&r->ticks, s->dev, s->streams.stream[0], traced ? &s->top : NULL, s->plan.streams);
    if (r->ask.explain && s->top.rank == 0) plan_explain(&s->plan, "");
    s->phase_s[PHASE_START_UP] = timer_now_s() - r->start_s;
    enter(r, "steps");
    const nvml_reading before = nvml_read(s->dev->uuid);
    r->report.loop = loop_run(&r->checkpoints, r->start_s, r->report.calibration.ceiling_bytes_per_s);
    if (r->report.loop.end == LOOP_FAILED) return fail(CHECK_EXIT_ENVIRONMENT, r->checkpoints.why.text);
    power_read(r->power, s->top.speaks_for_device, before, nvml_read(s->dev->uuid));
    return finish(r, &why);
}

int cmd_run(int argc, char **argv)
{
    sentence why = { "" };
    double start_s = timer_now_s();
    const cmd_ranks need = cmd_has_option(argc, argv, "--dry-run") ? CMD_ALONE : CMD_MPI;
    (void)cmd_begin(need, loop_catch_signals, argc, argv);
    if (WEFT_SIM) start_s = timer_now_s(); /* there is no simulated clock before */

    run *r = CHECK_ALLOC(calloc(1, sizeof *r));
    r->start_s = start_s;
    r->report.command = cmd_text(argc, argv);
    r->report.head = machine_record(r->report.command);
    int status = request_make(&r->ask, argc, argv, &why) ? 0 : CHECK_EXIT_USAGE;
    if (status == 0)
        status = r->ask.json ? plan_print_json(&r->ask, &why) : request_check_outputs(&r->ask, &why);
    if (status != 0) (void)fail(status, why.text);
    else if (!r->ask.json) {
        status = run_it(r);
        enter(r, NULL);
        clock_destroy(&r->ticks);
        saver_close(&r->checkpoints);
        sim_destroy(&r->sim);
        watchdog_stop();
    }
    json_decref(r->report.head);
    request_free(&r->ask);
    free(r->report.command);
    free(r);
    return cmd_end(status);
}
