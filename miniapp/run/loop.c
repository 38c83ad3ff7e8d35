#include "run/loop.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/cmd.h"
#include "ranks/check.h"
#include "ranks/fault.h"
#include "ranks/timer.h"
#include "run/watchdog.h"

typedef struct loop {
    saver *saver; /* not owned, as are its: */
    sim *sim;
    const config *cfg;
    loop_result result;
    int64_t pending;              /* the level whose norm is still to be read; -1: none */
    double deadline_s;            /* of timer_now_s, the earliest that a rank knows of; INFINITY: never */
    int64_t next_step, last_step; /* when the ranks look at their flags next, and looked last */
    double last_s, per_step_s;
} loop;

/* ---- norms ---- */

/* time.norm_every says which levels have a norm, time.tolerance ends the run. A norm that comes with its step
 * is judged when the next step is under way, so that the steps never wait; a level at which the run must know
 * (the last one, a checkpoint, a signal) is judged at once, and so is every norm that takes a pass of its
 * own. */

static bool small_enough(loop *l, int64_t level)
{
    const double tolerance = l->cfg->time.tolerance, change = sim_norm(l->sim, level);
    l->result.last_change = change;
    if (l->result.infinite_level < 0 && !isfinite(change)) l->result.infinite_level = level;
    return tolerance > 0 && change <= tolerance;
}

/* At a step boundary; now: the run must know of this level. Goes back by a level where it hears that late. */
static bool has_converged(loop *l, bool now)
{
    const int64_t level = l->sim->level, pending = l->pending;
    const bool due = config_due(l->cfg->time.norm_every, level);
    if (pending < 0 && !due) return false;
    const double begin_s = timer_now_s();
    bool converged = false;
    l->pending = -1;
    if (pending >= 0 && small_enough(l, pending)) {
        sim_undo_step(l->sim);
        converged = true;
    } else if (due && sim_norms_ride(l->sim) && !now) {
        l->pending = level;
    } else if (due) {
        converged = small_enough(l, level);
    }
    l->sim->phase_s[PHASE_NORM] += timer_now_s() - begin_s;
    return converged;
}

/* ---- attention ---- */

/* Why a run ends before its last step: a signal, its deadline, a checkpoint that failed.
 *
 * All ranks leave at the same step, so they look at their flags together, at steps that all of them know.
 * Looking costs a small all-reduce, so it is done about every tenth of a second; rank 0 tells in the same
 * message how many steps that is.
 *
 * The deadline: run.wall_limit seconds after the run began, else SLURM_JOB_END_TIME (seconds since 1970)
 * where Slurm sets it, else never. A run leaves so early that its last checkpoint is on disk by then. */

static const double look_every_s = 0.1;
static const double margin_s = 2;                  /* steps that are enqueued, the fingerprint, the record,
                                                    * MPI's end */
static const double slow_disk_bytes_per_s = 100e6; /* written and read back */

static volatile sig_atomic_t stop_asked;

static void on_signal(int number)
{
    if (number == SIGINT && stop_asked) check_leave(128 + SIGINT);
    stop_asked = 1;
}

void loop_catch_signals(void) { signals_catch(on_signal); }

/* Only rank 0's host is asked for the time of day: another clock may be hours off, and would end the
 * run at its start. */
static double left_s(const saver *v, double start_s)
{
    const double limit_s = v->sim->cfg->run.wall_limit_s;
    const char *slurm = getenv("SLURM_JOB_END_TIME");
    char *end = NULL;
    if (limit_s > 0) return start_s + limit_s - timer_now_s();
    if (!slurm || v->sim->top.rank != 0 || v->no_folder) return INFINITY;
    const double at = strtod(slurm, &end);
    return end != slurm && *end == '\0' && at > 0 ? at - (double)time(NULL) : INFINITY;
}

/* Is there time for `checkpoints` checkpoints after the one that may be under way? A write is taken to last
 * half as long again as this run's writes on average, before the first one as long as a slow disk needs. */
static bool have_time(const loop *l, int checkpoints)
{
    const saver *v = l->saver;
    const int block = l->sim->plan.block_steps;
    if (isinf(l->deadline_s)) return true;
    const state_writer *const w = v->writer[SAVER_CHECKPOINTS];
    const state_stats stats = w ? state_writer_stats(w) : (state_stats){ 0 };
    const double pass_s = block > 1 ? l->per_step_s * block : 0; /* nothing ends it before its time */
    double write_s = 1 + config_state_bytes(l->cfg) / slow_disk_bytes_per_s;
    if (stats.count > 0)
        write_s = 1.5 * (stats.snapshot_s + stats.write_s + (isnan(stats.verify_s) ? 0 : stats.verify_s)) /
                  (double)stats.count;
    if (w && state_writer_busy(w)) checkpoints++;
    if (l->cfg->output.final[0]) checkpoints++; /* the same bytes once more, when the loop has ended */
    return timer_now_s() + write_s * checkpoints + margin_s <= l->deadline_s - pass_s;
}

static loop_end reason_to_leave(const loop *l, bool due)
{
    if (l->saver->stop) return LOOP_FAILED;
    if (stop_asked) return LOOP_STOPPED;
    return have_time(l, due ? 2 : 1) ? LOOP_DONE : LOOP_OUT_OF_TIME;
}

/* At every step boundary; the same on all ranks. due: a checkpoint is, which is the last one where it would
 * leave no time for another before the deadline. */
static loop_end look_around(loop *l, bool due)
{
    const topology *top = &l->sim->top;
    const int64_t level = l->sim->level, taken = level - l->last_step;
    if (level == l->cfg->time.steps || isinf(l->deadline_s)) due = false;
    if (level < l->next_step && !due) return LOOP_DONE;
    l->per_step_s = timer_lap_s(&l->last_s) / (double)taken;
    const double steps = fmin(look_every_s / fmax(l->per_step_s, 1e-9), 2.0 * (double)taken + 1);
    int64_t both[2] = { reason_to_leave(l, due), top->rank == 0 ? (int64_t)fmax(1, steps) : 0 };
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, both, 2, MPI_INT64_T, MPI_MAX, top->comm));
    l->last_step = level;
    l->next_step = level + both[1];
    return (loop_end)both[0];
}

/* ---- progress ---- */

static const double shortest_s = 0.5, log_part = 0.1;
static const double log_s = 5, log_without_end_s = 60; /* with a tolerance the last step is not known */

void progress_begin(progress *p, const config *c, int rank, int64_t first, double copy_bytes_per_s)
{
    const config_progress wanted = c->output.progress;
    p->c = c;
    p->on = rank == 0 && wanted != CONFIG_PROGRESS_OFF;
    p->redrawn = isatty(STDERR_FILENO) == 1;
    const bool for_a_log = wanted == CONFIG_PROGRESS_AUTO && !p->redrawn;
    p->first = p->shown = first;
    p->every_s = !for_a_log ? shortest_s : c->time.tolerance == 0 ? log_s : log_without_end_s;
    p->every_steps =
        for_a_log && c->time.tolerance == 0 ? (int64_t)ceil(log_part * (double)(c->time.steps - first)) : 1;
    p->copy_cells_per_s = copy_bytes_per_s / config_kind_of(c)->words / (double)dtype_bytes(c->problem.type);
    p->begin_s = p->shown_s = timer_now_s();
}

bool progress_due(const progress *p, int64_t step, double now_s)
{
    return p->on && step > p->shown && step - p->shown >= p->every_steps && now_s - p->shown_s >= p->every_s;
}

/* A line, if one is due. change: the last norm, NaN for none. */
static void progress_show(progress *p, int64_t step, double change)
{
    const double now_s = timer_now_s();
    FILE *const to = p->redrawn ? stderr : stdout;
    if (!progress_due(p, step, now_s)) return;
    const int64_t last = p->c->time.steps;
    const double cells = (double)p->c->grid.nx * (double)p->c->grid.ny;
    const double cells_per_s = (double)(step - p->shown) * cells / (now_s - p->shown_s);
    const double left_s = (double)(last - step) * (now_s - p->begin_s) / (double)(step - p->first);
    p->shown_s = now_s;
    p->shown = step;
    fprintf(to, "%sstep %lld of %lld  %3.0f %%  %.3g GCells/s, %.3g x a copy  ", p->redrawn ? "\r" : "",
            (long long)step, (long long)last, 100.0 * (double)step / (double)last, cells_per_s * 1e-9,
            cells_per_s / p->copy_cells_per_s);
    if (!isnan(change)) fprintf(to, "change %.3e  ", change);
    fprintf(to, "%02d:%02d:%02d left%s", (int)(left_s / 3600), (int)fmod(left_s / 60, 60),
            (int)fmod(left_s, 60), p->redrawn ? " \033[K" : "\n");
    fflush(to);
}

static void progress_end(progress *p)
{
    if (p->on && p->redrawn) fprintf(stderr, "\r\033[K");
}

/* ---- the loop ---- */

/* WEFT_FAULT=device_error:STEP has the last rank's device fail there, a GPU by a kernel that reads memory
 * that is not allocated. */
static void inject_device_error(sim *s)
{
    const int step = fault_asked("device_error");
    if (step < 0 || s->level < step || s->top.rank != s->top.ranks - 1) return;
    device *d = s->dev;
    const field_shape *f = &sim_main_field(s).grid->shape;
    DEVICE_CHECK(d, d->kind == DEVICE_HOST ? EIO : 0);
    const void *const nowhere = (const void *)4096;
    DEVICE_CALL(d, max_change, f, nowhere, nowhere, field_own(f), s->result, s->streams.stream[0]);
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t to_next(int64_t every, int64_t level) { return every > 0 ? every - level % every : INT64_MAX; }

/* How many steps there are before something is to be done: at the end of the run, at norms, checkpoints and
 * frames, and, to a pass's length, when the ranks look at their flags. */
static int64_t steps_to_go(const loop *l)
{
    const sim *s = l->sim;
    const config *c = l->cfg;
    const int64_t level = s->level, block = s->plan.block_steps;
    const int64_t to_save = least(to_next(c->checkpoint.every, level), to_next(c->output.every, level));
    const int64_t to_look = (l->next_step - level + block - 1) / block * block;
    /* every step takes its norm and none is judged: many go in one graph, whose last norm is shown */
    const bool shown = c->time.norm_every == 1 && c->time.tolerance == 0 &&
                       s->plan.feed == CONFIG_FEED_GRAPH && sim_norms_ride(s);
    const int64_t to_norm = l->pending >= 0 && c->time.tolerance > 0 ? 1
                            : shown                                  ? INT64_MAX
                                                                     : to_next(c->time.norm_every, level);
    return least(least(c->time.steps - level, to_save), least(to_look, to_norm));
}

static bool is_kept(const config *c, int64_t level)
{
    return (c->output.series[0] || c->output.picture[0]) && config_due(c->output.every, level);
}

loop_result loop_run(saver *v, double start_s, double ceiling_bytes_per_s)
{
    sim *s = v->sim;
    const config *c = s->cfg;
    const int64_t first = s->level;
    loop l = { v, s, c, .result = { .last_change = NAN, .infinite_level = -1 },
               .pending = -1, .next_step = first + 1, .last_step = first };
    loop_result *r = &l.result;
    progress bar;
    progress_begin(&bar, c, s->top.rank, first, ceiling_bytes_per_s);
    sim_wait(s);
    MPI_CHECK(MPI_Barrier(s->top.comm));
    l.deadline_s = left_s(v, start_s);
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &l.deadline_s, 1, MPI_DOUBLE, MPI_MIN, s->top.comm));
    const double begin_s = l.last_s = timer_now_s();
    l.deadline_s += begin_s;
    clock_tick(v->ticks, 0);
    if (is_kept(c, first) && !saver_keep(v)) r->end = LOOP_FAILED;

    for (bool converged = false; s->level < c->time.steps && r->end == LOOP_DONE && !converged;) {
        step_probe *probe = clock_probe(v->ticks, s->level);
        const int steps = sim_advance(s, (sim_request){ steps_to_go(&l), c->time.norm_every, true, probe });
        inject_device_error(s);
        clock_tick(v->ticks, steps);
        watchdog_step(s->level);

        saver_poll(v);
        const bool due = config_due(c->checkpoint.every, s->level);
        r->end = look_around(&l, due);
        if (r->end == LOOP_FAILED) break;

        const bool leaving = r->end != LOOP_DONE;
        const bool now = leaving || due || is_kept(c, s->level) || s->level == c->time.steps;
        converged = has_converged(&l, now);

        if ((is_kept(c, s->level) && !saver_keep(v)) ||
            ((leaving || config_due(c->checkpoint.every, s->level)) && !saver_save(v, leaving))) {
            r->end = LOOP_FAILED;
            break;
        }
        progress_show(&bar, s->level, r->last_change);
        if (converged) r->end = LOOP_DONE;
    }
    if (!saver_finish(v)) r->end = LOOP_FAILED;
    clock_flush(v->ticks);
    r->steps_run = s->level - first;
    s->phase_s[PHASE_LOOP] = timer_now_s() - begin_s;
    progress_end(&bar);
    return *r;
}
