/* The table of a run. Its head stands in a log from the first second on: what runs, where, and how. */
#include "report/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/machine.h"
#include "base/terminal.h"
#include "files/figure.h"
#include "ranks/printable.h"

enum { INDENT = 13 }; /* where the second column begins */

/* ---- the head ---- */

static void print_notes(FILE *to, const sim *s, int from)
{
    for (int i = from; i < s->plan.notes; i++) fprintf(to, "note         %s\n", s->plan.note[i].said.text);
}

static void print_device(FILE *to, const sim *s)
{
    const device *d = device_computing(s->dev);
    const bool host = d->kind == DEVICE_HOST;
    const int count = host ? d->threads : s->top.ranks_on_device;
    fprintf(to, "device       %s: %s, %d %s%s per %s\n", host ? "host" : "cuda", d->name, count,
            host ? "thread" : "rank", count == 1 ? "" : "s", host ? "rank" : "GPU");
}

void report_print_head(const sim *s, report *r)
{
    const config *c = s->cfg;
    const decomp *d = &s->plan.grid.dec;
    char folder[4096] = "";
    terminal_text text;
    if (s->top.rank != 0) return;
    FILE *const to = terminal_text_begin(&text);
    fprintf(to, "weft %s (%s)\n", version_number, version_git);
    fprintf(to, "command      %s\n", printable_text(r->command));
    fprintf(to, "started      %s in %s\n", json_string_value(json_object_get(r->head, "started")),
            getcwd(folder, sizeof folder) ? printable_text(folder) : "?");
    fprintf(to, "problem      %s, %s, ", kind_name(c->problem.kind), dtype_name(c->problem.type));
    if (config_kind_of(c)->stencil)
        fprintf(to, "%s of radius %d, ", stencil_form_name(s->prob.op.form), s->prob.op.radius);
    fprintf(to, "%" PRId64 " x %" PRId64 " cells, initial %s, %" PRId64 " steps\n", c->grid.nx, c->grid.ny,
            config_initial_name(c->problem.initial), c->time.steps);
    fprintf(to, "ranks        %d as %d x %d on %d host%s, rank 0 on %s\n", s->top.ranks, d->ranks_x,
            d->ranks_y, s->top.hosts, s->top.hosts == 1 ? "" : "s", s->top.host);
    print_device(to, s);
    fprintf(to, "plan         ");
    plan_list(to, &s->plan);
    print_notes(to, s, 0);
    terminal_text_end(&text, INDENT);
    r->notes_printed = s->plan.notes;
}

/* ---- where the time went: means over ranks, so that rows add up to the row above them ---- */

const report_phase report_phases[PHASES] = {
    [PHASE_RUN] = { "run", 0 },               [PHASE_START_UP] = { "start_up", 1 },
    [PHASE_MPI] = { "mpi", 2 },               [PHASE_DEVICE] = { "device", 2 },
    [PHASE_FIELDS] = { "fields", 2 },         [PHASE_TRANSPORT] = { "transport", 2 },
    [PHASE_PASSES] = { "passes", 2 },         [PHASE_TUNE] = { "tune", 2 },
    [PHASE_CALIBRATE] = { "calibrate", 2 },   [PHASE_INITIALISE] = { "initialise", 2 },
    [PHASE_WRITER] = { "writer", 2 },         [PHASE_LOOP] = { "loop", 1 },
    [PHASE_STEPS] = { "steps", 2 },           [PHASE_NORM] = { "norm", 2 },
    [PHASE_CHECKPOINT] = { "checkpoint", 2 }, [PHASE_SERIES] = { "series", 2 },
    [PHASE_OUTPUT] = { "output", 1 },         [PHASE_VERIFY] = { "verify", 1 },
};

static void print_row(FILE *to, int depth, const char *name, double part, const timer_spread *t)
{
    fprintf(to, "%*s%-*s %6.1f %12s", 2 * depth, "", 17 - 2 * depth, name, 100 * part,
            figure_seconds(t->mean).text);
    if (!isnan(t->max)) fprintf(to, " %12s %12s", figure_seconds(t->min).text, figure_seconds(t->max).text);
    fputc('\n', to);
}

/* The rows in phase i, and what they do not account for; rows of less than a thousandth of the run are left
 * out. Returns the next phase that is not in it. */
static int print_phase(FILE *to, const report *r, int i)
{
    const report_phase *p = &report_phases[i];
    const double run_s = r->phase[PHASE_RUN].mean, shown_from_s = 0.001 * run_s;
    double rest_s = r->phase[i].mean;
    int next = i + 1;
    if (rest_s >= shown_from_s) print_row(to, p->depth, p->name, rest_s / run_s, &r->phase[i]);
    while (next < PHASES && report_phases[next].depth > p->depth) {
        rest_s -= r->phase[next].mean;
        next = print_phase(to, r, next);
    }
    if (next > i + 1 && rest_s >= shown_from_s)
        print_row(to, p->depth + 1, "other", rest_s / run_s,
                  &(timer_spread){ .min = NAN, .mean = rest_s, .max = NAN });
    return next;
}

/* ---- energy and held clocks ---- */

enum { GPUS, ENERGY_J, LIMIT_W, BY_POWER, BY_HEAT };

/* One GPU whose value is unknown makes the sum NaN; MPI's smallest and largest of a NaN are any number. */
static double known(const timer_spread *all, double number) { return isnan(all->sum) ? NAN : number; }

void power_read(double out[POWER_NUMBERS], bool speaks, nvml_reading before, nvml_reading after)
{
    const double counted_s = after.held_at_s - before.held_at_s;
    out[GPUS] = speaks;
    out[ENERGY_J] = speaks ? after.energy_j - before.energy_j : 0;
    out[LIMIT_W] = speaks ? after.power_limit_w : INFINITY;
    out[BY_POWER] = speaks ? (after.power_held_s - before.power_held_s) / counted_s : 0;
    out[BY_HEAT] = speaks ? (after.heat_held_s - before.heat_held_s) / counted_s : 0;
}

power_use power_of(const timer_spread all[POWER_NUMBERS], double seconds, double updates)
{
    power_use u = { .gpus = (int)all[GPUS].sum,
                    .energy_j = all[ENERGY_J].sum,
                    .power_limit_w = known(&all[LIMIT_W], all[LIMIT_W].min),
                    .held_by_power = known(&all[BY_POWER], all[BY_POWER].max),
                    .held_by_heat = known(&all[BY_HEAT], all[BY_HEAT].max) };
    if (seconds < POWER_LOOP_LEAST_S) u.energy_j = u.held_by_power = u.held_by_heat = NAN;
    u.update_j = u.energy_j / updates;
    u.power_w = u.energy_j / seconds / u.gpus;
    return u;
}

void power_print(FILE *to, const power_use *u)
{
    if (u->gpus == 0) return;
    if (!isnan(u->power_w))
        fprintf(to, "power        %.0f W per GPU (limit: %.0f), %.3g nJ per cell and step\n", u->power_w,
                u->power_limit_w, u->update_j * 1e9);
    if (u->held_by_power >= 0.01)
        fprintf(to, "clock        held down by the power limit for %.0f %% of the steps' time\n",
                100 * u->held_by_power);
    if (u->held_by_heat >= 0.01)
        fprintf(to, "clock        held down by heat for %.0f %% of the steps' time\n", 100 * u->held_by_heat);
}

/* ---- rates and results ---- */

double report_cells_per_s(const sim *s, double step_s)
{
    return (double)s->cfg->grid.nx * (double)s->cfg->grid.ny / step_s;
}

double report_bytes_per_s(const sim *s, double step_s)
{
    return report_cells_per_s(s, step_s) * s->kind->words * (double)dtype_bytes(s->cfg->problem.type);
}

static void print_overlap(FILE *to, const sim *s, const overlap *o)
{
    fprintf(to, "halo         %s alone, ", figure_seconds(o->comm_s).text);
    if (isnan(o->hidden_fraction)) fprintf(to, "hidden part not measurable: %s", o->why.text);
    else
        fprintf(to, "%.0f %% of it hidden, +- %.0f %%", 100 * o->hidden_fraction,
                100 * o->hidden_uncertainty);
    fprintf(to, " (%s %s, without exchange %s)\n", s->plan.block_steps > 1 ? "block" : "step",
            figure_seconds(o->step_s).text, figure_seconds(o->step_without_comm_s).text);
}

static void print_rates(FILE *to, const sim *s, const report *r)
{
    if (r->steps.s.count == 0) return;
    const double bytes_per_s = report_bytes_per_s(s, r->steps.s.p50);
    fprintf(to, "\nstep         median %s, mean %s, p99 %s, max %s (slowest rank: %d)\n",
            figure_seconds(r->steps.s.p50).text, figure_seconds(r->steps.s.mean).text,
            figure_seconds(r->steps.s.p99).text, figure_seconds(r->steps.s.max).text, r->steps.rank);
    fprintf(to,
            "rate         %.4g GCells/s, %.4g GB/s at %d words per cell: %.3g x a copy; sustained %.4g "
            "GCells/s\n",
            report_cells_per_s(s, r->steps.s.p50) * 1e-9, bytes_per_s * 1e-9, s->kind->words,
            bytes_per_s / r->calibration.ceiling_bytes_per_s, report_cells_per_s(s, r->steps.s.mean) * 1e-9);
    fprintf(to, "copy         %.4g GB/s, device copies on all ranks at once, in this run\n",
            r->calibration.ceiling_bytes_per_s * 1e-9);
    const calibrate_result *k = &r->calibration;
    if (k->copies.stands_out)
        fprintf(to, "slow rank    %d on %s: its copies take %.0f %% longer than those of the median rank\n",
                k->copies.rank, k->copies.host, 100 * k->copies.over_median);
    if (!isnan(k->overlap.comm_s)) print_overlap(to, s, &k->overlap);
}

static void print_checkpoints(FILE *to, const report *r)
{
    const state_stats *w = &r->checkpoints;
    if (w->count == 0) return;
    fprintf(to, "checkpoints  %" PRId64 ", %s, ", w->count, figure_bytes((double)w->bytes).text);
    fprintf(to, "written %s in %s, read back in %s; the steps waited %s\n",
            w->async ? "beside the steps" : "while the steps waited", figure_seconds(w->write_s).text,
            figure_seconds(w->verify_s).text, figure_seconds(w->stall_s).text);
    if (w->parts > 1) fprintf(to, "             each in %d parts, by as many ranks\n", w->parts);
}

static void print_verdict(FILE *to, const report *r)
{
    fprintf(to, "verdict      %s", verify_name[r->verdict.verdict]);
    if (r->verdict.verdict != VERIFY_UNCHECKED || !isnan(r->verdict.max_error))
        fprintf(to, ": max error %.3e, bound %.3e, every cell checked", r->verdict.max_error,
                r->verdict.bound);
    if (r->verdict.why.text[0]) fprintf(to, ": %s", r->verdict.why.text);
    fputc('\n', to);
}

void report_print(const sim *s, const report *r)
{
    terminal_text text;
    if (s->top.rank != 0) return;
    FILE *const to = terminal_text_begin(&text);
    if (s->level != s->cfg->time.steps) fprintf(to, "ended        at step %" PRId64 "\n", s->level);
    print_notes(to, s, r->notes_printed);
    fprintf(to, "\n%-17s %6s %12s %12s %12s   over ranks\n", "phase", "%", "mean", "min", "max");
    (void)print_phase(to, r, 0);
    print_rates(to, s, r);
    power_print(to, &r->power);
    if (!isnan(r->loop.last_change))
        fprintf(to, "change       %.3e, max |next - u| of the last checked step\n", r->loop.last_change);
    print_checkpoints(to, r);
    print_verdict(to, r);
    fprintf(to, "fingerprint  %016" PRIx64 "\n", r->fingerprint);
    terminal_text_end(&text, INDENT);
}
