#include "report/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/terminal.h"
#include "files/bytes.h"
#include "ranks/printable.h"

static double cells_global(const sim *s) { return (double)s->cfg->grid.nx * (double)s->cfg->grid.ny; }

report_rates report_rates_of(const sim *s, const report *r)
{
    report_rates v;
    v.cells_per_s = cells_global(s) / r->step_s.mean;
    v.bytes_per_s = v.cells_per_s * config_kind_of(s->cfg)->words * (double)dtype_bytes(s->cfg->problem.type);
    v.bytes_moved_per_s = r->bytes_moved_per_step / r->step_s.mean;
    v.fraction = v.bytes_per_s / r->calibration.ceiling_bytes_per_s;
    return v;
}

static void print_overlap(FILE *to, const sim *s, const overlap *o)
{
    char a[32], b[32], c[32];
    fprintf(to, "halo         %s alone, ", terminal_seconds(a, sizeof a, o->comm_s));
    if (isnan(o->hidden_fraction)) fprintf(to, "hidden part not measurable: %s", o->why.text);
    else fprintf(to, "%.0f %% of it hidden, +- %.0f %%", 100 * o->hidden_fraction, 100 * o->hidden_uncertainty);
    fprintf(to, " (%s %s, without exchange %s)\n", s->plan.block_steps > 1 ? "block" : "step", terminal_seconds(b, sizeof b, o->step_s),
            terminal_seconds(c, sizeof c, o->step_without_comm_s));
}

static void print_rates(FILE *to, const sim *s, const report *r)
{
    char a[32], b[32], c[32], d[32];
    if (r->step_s.count == 0) return;
    const report_rates v = report_rates_of(s, r);
    fprintf(to, "\nstep         median %s, mean %s, p99 %s, max %s (slowest rank: %d)\n",
           terminal_seconds(a, sizeof a, r->step_s.p50), terminal_seconds(b, sizeof b, r->step_s.mean),
           terminal_seconds(c, sizeof c, r->step_s.p99), terminal_seconds(d, sizeof d, r->step_s.max), r->slowest_rank);
    fprintf(to, "rate         %.4g GCells/s, %.4g GB/s at %d words per cell: %.3g x a copy\n", v.cells_per_s * 1e-9,
            v.bytes_per_s * 1e-9, config_kind_of(s->cfg)->words, v.fraction);
    fprintf(to, "copy         %.4g GB/s, device copies on all ranks at once, in this run\n",
            r->calibration.ceiling_bytes_per_s * 1e-9);
    const calibrate_result *k = &r->calibration;
    if (k->copies.stands_out)
        fprintf(to, "slow rank    %d on %s: its copies take %.0f %% longer than those of the median rank\n", k->copies.rank,
                k->copies.host, 100 * k->copies.over_median);
    if (!isnan(k->host_step_s))
        fprintf(to, "host         %s per step, in the thread that enqueues\n", terminal_seconds(a, sizeof a, k->host_step_s));
    if (!isnan(k->overlap.comm_s)) print_overlap(to, s, &k->overlap);
}

static void print_checkpoints(FILE *to, const report *r)
{
    char a[32], b[32], c[32], bytes[32];
    sentence who;
    const writer_stats *w = &r->checkpoints;
    if (w->count == 0) return;
    fprintf(to, "checkpoints  %" PRId64 ", %s, ", w->count, bytes_text(bytes, sizeof bytes, (double)w->bytes));
    fprintf(to, "written %s in %s, read back in %s; the steps waited %s\n", w->async ? "beside the steps" : "while the steps waited",
            terminal_seconds(a, sizeof a, w->write_s), terminal_seconds(b, sizeof b, w->verify_s), terminal_seconds(c, sizeof c, w->stall_s));
    writers_sentence(&w->plan, &who);
    if (who.text[0]) fprintf(to, "             written by %s\n", who.text);
}

static void print_verdict(FILE *to, const report *r)
{
    static const char *const colour[] = {
        [VERIFY_EXACT] = "\033[32m", [VERIFY_FAILED] = "\033[1;31m", [VERIFY_UNCHECKED] = "\033[33m",
    };
    const bool coloured = terminal_has_colour();
    fprintf(to, "verdict      %s%s%s", coloured ? colour[r->verdict.verdict] : "", verify_name[r->verdict.verdict],
            coloured ? "\033[0m" : "");
    if (r->verdict.verdict != VERIFY_UNCHECKED || !isnan(r->verdict.max_error))
        fprintf(to, ": max error %.3e, bound %.3e, every cell checked", r->verdict.max_error, r->verdict.bound);
    if (r->verdict.why.text[0]) fprintf(to, ": %s", r->verdict.why.text);
    fputc('\n', to);
}

/* What the run left on disk, by name. */
static void print_files(FILE *to, const sim *s, const report *r)
{
    const config *c = s->cfg;
    char newest[64], states[64];
    snprintf(newest, sizeof newest, "/step_%010lld.h5 (newest checkpoint)", (long long)r->checkpoints.newest_step);
    snprintf(states, sizeof states, " (series of %lld)", (long long)r->series_states);
    const struct {
        bool there;
        const char *path, *what;
    } file[] = {
        { r->wrote_record, c->output.record, " (record)" },    { r->wrote_final, c->output.final, " (last state)" },
        { r->checkpoints.count > 0, c->checkpoint.dir, newest }, { r->series_states > 0, c->output.series, states },
        { r->wrote_picture, c->output.picture, " (picture)" }, { r->wrote_trace, c->output.trace, " (trace)" },
    };
    const char *separator = "files        ";
    for (size_t i = 0; i < sizeof file / sizeof *file; i++) {
        if (!file[i].there) continue;
        fprintf(to, "%s%s%s", separator, printable_text(file[i].path), file[i].what);
        separator = ", ";
    }
    if (separator[0] == ',') fputc('\n', to);
}

void report_print(const sim *s, const report *r)
{
    terminal_text text;
    if (s->top.rank != 0) return;
    FILE *const to = terminal_text_begin(&text);
    if (s->level != s->cfg->time.steps) fprintf(to, "ended        at step %" PRId64 "\n", s->level);
    report_print_notes(to, s, r->notes_printed);
    report_print_phases(to, r);
    print_rates(to, s, r);
    power_print(to, &r->power);
    if (!isnan(r->last_change)) fprintf(to, "change       %.3e, max |next - u| of the last checked step\n", r->last_change);
    print_checkpoints(to, r);
    print_verdict(to, r);
    fprintf(to, "fingerprint  %016" PRIx64 "\n", r->fingerprint);
    print_files(to, s, r);
    terminal_text_end(&text, REPORT_INDENT);
}
