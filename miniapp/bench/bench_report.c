/* The table and the record of a point, and the list of rungs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/machine.h"
#include "bench/bench_measure.h"
#include "files/figure.h"
#include "output/record.h"

/* A larger spread marks a row: the machine was not quiet while it was measured. */
static const double spread_quiet = 0.10;

static const char *device_of(const bench *b) { return b->d->kind == DEVICE_HOST ? "host" : "cuda"; }

static const char *unit_of(ladder_unit unit)
{
    return unit == LADDER_BYTES ? "B/s" : unit == LADDER_FLOPS ? "flop/s" : "1/s";
}

static figure rate_text(double rate, ladder_unit unit)
{
    return figure_rate(rate, unit == LADDER_CALLS ? "/s" : unit_of(unit));
}

/* The last column: the rung's lesson, theory's prediction (" (5 sectors per load)") and the slowest rank; or
 * the error. */
static sentence remark_of(const bench_item *item, const bench_point *p)
{
    sentence s = p->verdict.why;
    if (!p->verdict.right) return s;
    sentence_set(&s, "%s", item->rung->why);
    for (int i = 0; i < LADDER_PREDICTED_MAX && p->of.predicted[i].what; i++)
        sentence_add(&s, "%s%.3g %s", i ? ", " : " (", p->of.predicted[i].value, p->of.predicted[i].what);
    if (p->of.predicted[0].what) sentence_add(&s, ")");
    if (p->slowest.stands_out)
        sentence_add(&s, "; slowest: rank %d on %s, %.0f %% over the median", p->slowest.rank,
                     p->slowest.host, 100 * p->slowest.over_median);
    return s;
}

/* ---- the table ---- */

static const char row_format[] = "%-36s  %8s  %9s  %12s  %5s  %-16s  ";

static void print_heading(const ladder_family *f, const bench_point *p)
{
    const char *type = f->type_name[p->of.type];
    printf("%s: %s%s%s\n", f->name, f->shows, type ? ", " : "", type ? type : "");
    printf(row_format, "rung", "median", "spread  ", "rate", "of it", "ceiling");
    printf("what it shows\n");
}

/* Values that are not the usual ones begin the remark: "n=16384: what it shows". */
static void print_row(const bench_item *item, const bench_point *p)
{
    const ladder_family *f = item->family;
    const ladder_rung *r = item->rung;
    const double part = p->rate / p->of.ceiling_rate;
    char name[64], spread[32] = "-  ", fraction[16] = "-";
    const int used = snprintf(name, sizeof name, "%s/%s", f->name, r->name);
    if (r->scan_count > 0)
        snprintf(name + used, sizeof name - (size_t)used, "  %s=%lld", f->parameter[r->scan].key,
                 (long long)p->of.value[r->scan]);
    if (p->spread > 99.99) strcpy(spread, ">9999 % *");
    else if (!isnan(p->spread))
        snprintf(spread, sizeof spread, "%.*f %%%s", p->spread < 9.99 ? 1 : 0, 100 * p->spread,
                 p->spread > spread_quiet ? " *" : "  ");
    if (!isnan(part) && p->spread <= 1)
        snprintf(fraction, sizeof fraction, "%.*f", part < 10 ? 3 : part < 1000 ? 1 : 0, part);
    printf(row_format, name, figure_seconds(p->time_s.p50).text, spread,
           !p->verdict.right ? "WRONG"
           : isnan(p->rate)  ? "right"
                             : rate_text(p->rate, r->unit).text,
           fraction, isnan(p->of.ceiling_rate) ? "-" : p->of.ceiling_name);
    for (int i = 0; i < f->parameters; i++)
        if (ladder_takes(r, i) && !ladder_scans(r, i) && p->of.value[i] != f->parameter[i].usual)
            printf("%s=%lld: ", f->parameter[i].key, (long long)p->of.value[i]);
    printf("%s\n", remark_of(item, p).text);
}

/* ---- rows, and what stands around them ---- */

void bench_report_head(const bench *b)
{
    const topology *top = b->world->top;
    const int threads = b->d->threads;
    printf("weft %s (%s)\ndevice %s: %s", version_number, version_git, device_of(b), b->d->name);
    if (b->d->kind == DEVICE_HOST) printf(", %d thread%s", threads, threads == 1 ? "" : "s");
    if (top->ranks > 1) printf("\nranks %d on %d host%s", top->ranks, top->hosts, top->hosts == 1 ? "" : "s");
    printf("\n\n");
    fflush(stdout);
}

void bench_report_row(bench_table *t, const bench_item *item, const bench_point *p)
{
    t->shown++;
    t->noisy += p->spread > spread_quiet;
    if (t->family && item->family != t->family) printf("\n");
    if (item->family != t->family) print_heading(item->family, p);
    t->family = item->family;
    print_row(item, p);
    fflush(stdout);
}

void bench_report_skipped(bench_table *t, const bench_item *item, int had, const char *why)
{
    if (had == 0 && !item->named) t->skipped++;
    else
        (void)cmd_say(0, "%s/%s skipped%s: %s", item->family->name, item->rung->name,
                      had > 0 ? " at one point" : "", why);
}

void bench_report_foot(const bench_table *t, const bench *b)
{
    int noisy = t->noisy;
    if (t->shown > 0) printf("\n");
    for (int i = 0; i < b->ceilings; i++) {
        const bench_point *c = &b->ceiling[i];
        const ladder_rung *r = c->of.rung;
        printf("%s %s %s%s", i ? "," : "ceilings of this run:", r->name, rate_text(c->rate, r->unit).text,
               c->spread > spread_quiet ? " *" : "");
        noisy += c->spread > spread_quiet;
    }
    if (b->ceilings > 0) printf("\n");
    if (noisy > 0)
        printf("* The spread is above %.0f %%: the machine was not quiet for %d of %d rows and ceilings.\n",
               100 * spread_quiet, noisy, t->shown + b->ceilings);
    if (t->skipped > 0)
        printf("Skipped: %d rung%s that cannot run here. `weft bench --list` names them; a rung given by "
               "name prints why.\n",
               t->skipped, t->skipped == 1 ? "" : "s");
}

/* ---- --list ---- */

static void list_head(device_kind kind)
{
    const char *no_gpu = NULL;
    if (kind == DEVICE_CUDA) (void)device_cuda_count(&no_gpu);
    printf("rungs of the %s device", kind == DEVICE_HOST ? "host" : "cuda");
    printf(no_gpu ? " (not here: %s)\n" : "\n", no_gpu);
}

/* The host's families come first. */
void bench_report_list(const bench_request *ask, int ranks)
{
    const ladder_family *last = NULL;
    for (const bench_item *i = ask->item; i < ask->item + ask->items; i++) {
        const ladder_family *f = i->family;
        if (last && f->kind != last->kind) printf("\n");
        if (!last || f->kind != last->kind) list_head(f->kind);
        if (f != last) printf("\n%s: %s (docs/teaching/%s.md)\n", f->name, f->shows, f->name);
        for (int p = 0; p < f->parameters && f != last; p++)
            printf("  %s=%lld  %s\n", f->parameter[p].key, (long long)f->parameter[p].usual,
                   f->parameter[p].help);
        last = f;
        const char *missing = f->refusal ? f->refusal(i->rung, f->kind, ranks) : NULL;
        printf("  %s/%-20s %s", f->name, i->rung->name, i->rung->why);
        printf(missing ? " (not here: %s)\n" : "\n", missing);
    }
}

/* ---- records ---- */

/* The part of a record that holds for one point: a rung's own figures, or an entry of its scan. */
static json_t *point_json(const bench_item *item, const bench_point *p)
{
    json_t *values = json_object(), *predicted = p->of.predicted[0].what ? json_object() : json_null();
    for (int i = 0; i < item->family->parameters; i++)
        if (ladder_takes(item->rung, i))
            json_object_set_new(values, item->family->parameter[i].key,
                                json_integer((json_int_t)p->of.value[i]));
    for (int i = 0; i < LADDER_PREDICTED_MAX && p->of.predicted[i].what; i++)
        json_object_set_new(predicted, p->of.predicted[i].what, record_number(p->of.predicted[i].value));
    return json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:i, s:i, s:o, s:o, s:o}", "size",
                     (json_int_t)p->of.size, "time_s", record_percentiles(&p->time_s), "spread",
                     record_number(p->spread), "rate", record_number(p->rate), "flops_per_byte",
                     record_number(p->flops_per_byte), "ceiling", record_number(p->of.ceiling_rate),
                     "ceiling_name", record_text_or_null(p->of.ceiling_name), "fraction_of_ceiling",
                     record_number(p->rate / p->of.ceiling_rate), "verified", p->verdict.right, "wrong",
                     p->verdict.right ? json_null() : json_string(p->verdict.why.text), "samples",
                     (int)p->time_s.count, "repeats", p->repeats, "parameters", values, "predicted",
                     predicted, "slowest", record_straggler(&p->slowest));
}

void bench_report_record(json_t *o, const bench *b, const bench_item *item, const bench_point *point,
                         int points)
{
    const ladder_family *f = item->family;
    const ladder_rung *r = item->rung;
    const int ranks = bench_together(f) ? b->world->top->ranks : 1;
    bool verified = true;
    json_t *ceilings = json_object(), *scan = json_array();
    for (int i = 0; i < b->ceilings; i++)
        json_object_set_new(ceilings, b->ceiling[i].of.rung->name, record_number(b->ceiling[i].rate));
    for (int i = 0; i < points; i++) {
        verified = verified && point[i].verdict.right;
        if (r->scan_count > 0) json_array_append_new(scan, point_json(item, &point[i]));
    }
    json_object_update_new(o, point_json(item, &point[points - 1]));
    json_object_update_new(o,
                           json_pack("{s:s, s:s, s:s, s:s, s:i, s:o, s:s, s:o, s:b}", "family", f->name,
                                     "rung", r->name, "why", r->why, "device", device_of(b), "ranks", ranks,
                                     "dtype", record_text_or_null(f->type_name[point[points - 1].of.type]),
                                     "unit", unit_of(r->unit), "ceilings", ceilings, "verified", verified));
    if (!verified) json_object_set_new(o, "rate", json_null());
    if (r->scan_count > 0) json_object_set_new(o, "swept", json_string(f->parameter[r->scan].key));
    json_object_set_new(o, "sweep", scan);
}
