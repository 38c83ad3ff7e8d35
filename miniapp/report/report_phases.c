/* Where the time of a run went. Means over ranks, so that rows add up to the row above them. */
#include <math.h>
#include <stdio.h>

#include "base/terminal.h"
#include "report/report.h"

static const double shown_from = 0.001; /* of the run */

/* Of phase i, what the phases in it do not account for; 0 where there is none in it. */
static double rest_of(const report *r, int i)
{
    const int depth = r->phase[i].depth + 1;
    double parts_s = 0;
    int parts = 0;
    for (int k = i + 1; k < r->phases && r->phase[k].depth >= depth; k++) {
        if (r->phase[k].depth > depth) continue;
        parts_s += r->phase[k].seconds.mean;
        parts++;
    }
    return parts > 0 && depth < REPORT_DEPTH_OF_STEP ? r->phase[i].seconds.mean - parts_s : 0;
}

static void print_row(FILE *to, int depth, const char *name, double part, const timer_spread *t)
{
    char a[32], b[32], c[32], percent[16] = "";
    if (depth < REPORT_DEPTH_OF_STEP) snprintf(percent, sizeof percent, "%.1f", 100 * part);
    fprintf(to, "%*s%-*s %6s %12s", 2 * depth, "", 17 - 2 * depth, name, percent, terminal_seconds(b, sizeof b, t->mean));
    if (!isnan(t->max)) fprintf(to, " %12s %12s", terminal_seconds(a, sizeof a, t->min), terminal_seconds(c, sizeof c, t->max));
    fputc('\n', to);
}

/* The rows in phase i, and what is left of it. Returns the next phase that is not in it. */
static int print_phase(FILE *to, const report *r, int i)
{
    const report_phase *p = &r->phase[i];
    const double run_s = r->phase[0].seconds.mean, rest_s = rest_of(r, i);
    if (p->seconds.mean >= shown_from * run_s) print_row(to, p->depth, p->name, p->seconds.mean / run_s, &p->seconds);
    int next = i + 1;
    while (next < r->phases && r->phase[next].depth > p->depth) next = print_phase(to, r, next);
    if (rest_s >= shown_from * run_s)
        print_row(to, p->depth + 1, "other", rest_s / run_s, &(timer_spread){ .min = NAN, .mean = rest_s, .max = NAN });
    return next;
}

void report_print_phases(FILE *to, const report *r)
{
    fprintf(to, "\n%-17s %6s %12s %12s %12s   over ranks\n", "phase", "%", "mean", "min", "max");
    (void)print_phase(to, r, 0);
}
