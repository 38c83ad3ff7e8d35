#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "terminal.h"

static double cells_global(const sim *s) { return (double)s->cfg->grid.nx * (double)s->cfg->grid.ny; }

report_rates report_rates_of(const sim *s, const report *r)
{
    report_rates v;
    v.cells_per_s = cells_global(s) / r->step_s.mean;
    v.bytes_per_s = v.cells_per_s * sim_words(s) * (double)dtype_bytes(s->cfg->problem.type);
    v.bytes_moved_per_s = r->bytes_moved_per_step / r->step_s.mean;
    v.fraction = v.bytes_per_s / r->calibration.ceiling_bytes_per_s;
    return v;
}

/* 1.23 ms, 45.6 us: three digits whatever the size. */
static const char *seconds_text(char *out, size_t bytes, double s)
{
    if (isnan(s)) snprintf(out, bytes, "-");
    else if (s < 1e-3) snprintf(out, bytes, "%.3g us", s * 1e6);
    else if (s < 1) snprintf(out, bytes, "%.3g ms", s * 1e3);
    else snprintf(out, bytes, "%.4g s", s);
    return out;
}

static void print_phases(FILE *to, const report *r)
{
    char a[32], b[32], c[32];
    fprintf(to, "\n%-12s %12s %12s %12s   over ranks, whole run\n", "phase", "min", "mean", "max");
    for (int i = 0; i < r->phases; i++) {
        const timer_spread *t = &r->phase[i].seconds;
        if (isnan(t->mean) || t->max == 0) continue;
        fprintf(to, "%-12s %12s %12s %12s\n", r->phase[i].name, seconds_text(a, sizeof a, t->min),
               seconds_text(b, sizeof b, t->mean), seconds_text(c, sizeof c, t->max));
    }
}

static void print_overlap(FILE *to, const sim *s, const overlap *o)
{
    char a[32], b[32], c[32];
    fprintf(to, "halo         %s alone, ", seconds_text(a, sizeof a, o->comm_s));
    if (isnan(o->hidden_fraction)) fprintf(to, "hidden part not measurable: %s", o->why);
    else fprintf(to, "%.0f %% of it hidden, +- %.0f %%", 100 * o->hidden_fraction, 100 * o->hidden_uncertainty);
    fprintf(to, " (%s %s, without exchange %s)\n", s->fuse > 1 ? "sweep" : "step", seconds_text(b, sizeof b, o->step_s),
            seconds_text(c, sizeof c, o->step_without_comm_s));
}

static void print_rates(FILE *to, const sim *s, const report *r)
{
    char a[32], b[32], c[32], d[32];
    if (r->step_s.count == 0) return;
    const report_rates v = report_rates_of(s, r);
    fprintf(to, "\nstep         median %s, mean %s, 99 %% under %s, max %s (slowest rank: %d)\n",
           seconds_text(a, sizeof a, r->step_s.p50), seconds_text(b, sizeof b, r->step_s.mean),
           seconds_text(c, sizeof c, r->step_s.p99), seconds_text(d, sizeof d, r->step_s.max), r->slowest_rank);
    fprintf(to, "rate         %.4g GCells/s, %.4g GB/s at %d words a cell\n", v.cells_per_s * 1e-9, v.bytes_per_s * 1e-9,
            sim_words(s));
    fprintf(to, "ceiling      %.4g GB/s, device copies on all ranks at once in this run: %.1f %% of it reached\n",
           r->calibration.ceiling_bytes_per_s * 1e-9, 100 * v.fraction);
    const calibrate_result *k = &r->calibration;
    if (k->copies.stands_out)
        fprintf(to, "slow rank    %d on %s: its copies take %.0f %% longer than the median rank's\n", k->copies.rank,
                k->copies.host, 100 * k->copies.over_median);
    if (!isnan(k->host_step_s))
        fprintf(to, "host         %s a step, of the thread that enqueues\n", seconds_text(a, sizeof a, k->host_step_s));
    if (!isnan(k->overlap.comm_s)) print_overlap(to, s, &k->overlap);
}

static void print_checkpoints(FILE *to, const report *r)
{
    char a[32], b[32], c[32];
    const writer_stats *w = &r->checkpoints;
    const double mb = 1e-6;
    if (w->count == 0) return;
    fprintf(to, "checkpoints  %" PRId64 ", %.3g MB, ", w->count, (double)w->bytes * mb);
    fprintf(to, "written %s in %s, read back in %s; the steps waited %s\n", w->async ? "beside the steps" : "while the steps waited",
            seconds_text(a, sizeof a, w->write_s), seconds_text(b, sizeof b, w->verify_s), seconds_text(c, sizeof c, w->stall_s));
    if (w->plan.rule == WRITERS_ONE_HOST || w->plan.rule == WRITERS_LOCKED)
        fprintf(to, "             %d rank%s of %s wrote%s: %s\n", w->plan.count, w->plan.count == 1 ? "" : "s",
                w->plan.rule == WRITERS_ONE_HOST ? "one host" : "several hosts",
                w->plan.rule == WRITERS_LOCKED ? " under locks" : " for all", w->plan.why);
}

static void print_verdict(FILE *to, const report *r)
{
    static const char *const colour[] = {
        [VERIFY_EXACT] = "\033[32m", [VERIFY_FAILED] = "\033[1;31m", [VERIFY_UNCHECKED] = "\033[33m",
    };
    const bool coloured = terminal_has_colour();
    fprintf(to, "verdict      %s%s%s", coloured ? colour[r->verdict.verdict] : "", verify_name(r->verdict.verdict),
            coloured ? "\033[0m" : "");
    if (r->verdict.verdict != VERIFY_UNCHECKED || !isnan(r->verdict.max_error))
        fprintf(to, ": max error %.3e, bound %.3e, every cell checked", r->verdict.max_error, r->verdict.bound);
    if (r->verdict.why[0]) fprintf(to, ": %s", r->verdict.why);
    fputc('\n', to);
}

void report_print(const sim *s, const report *r)
{
    report_text text;
    if (s->top.rank != 0) return;
    FILE *const to = report_text_begin(&text);
    if (s->level != s->cfg->time.steps) fprintf(to, "ended        at step %" PRId64 "\n", s->level);
    report_print_notes(to, s, r->notes_printed);
    print_phases(to, r);
    print_rates(to, s, r);
    power_print(to, &r->power);
    if (!isnan(r->last_change)) fprintf(to, "change       %.3e, max |next - u| of the last checked step\n", r->last_change);
    print_checkpoints(to, r);
    print_verdict(to, r);
    fprintf(to, "fingerprint  %016" PRIx64 "\n", r->fingerprint);
    report_text_end(&text);
}
