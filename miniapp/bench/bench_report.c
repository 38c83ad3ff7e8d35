#include "bench/bench_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cmd.h"
#include "base/version.h"
#include "bench/bench_families.h"
#include "files/figure.h"
#include "output/record.h"

enum { CELL_BYTES = 48 };

static int ranks_of(const bench *b, const ladder_family *f)
{
    return bench_families_together(f) ? b->world->top->ranks : 1;
}

static const char *device_of(const bench *b) { return b->d->kind == DEVICE_HOST ? "host" : "cuda"; }

static const char *unit_of(ladder_unit unit)
{
    static const char *const name[] = {
        [LADDER_BYTES] = "B/s", [LADDER_FLOPS] = "flop/s", [LADDER_CALLS] = "1/s"
    };
    return name[unit];
}

/* ---- what stands in a row ---- */

/* "4.28 TB/s": three digits and a unit. */
static figure rate_text(double rate, ladder_unit unit)
{
    return figure_rate(rate, unit == LADDER_CALLS ? "/s" : unit_of(unit));
}

static figure seconds_text(double s)
{
    figure f = { "-" };
    const double scale = s < 1e-6 ? 1e9 : s < 1e-3 ? 1e6 : s < 1 ? 1e3 : 1, x = s * scale;
    const char *unit = s < 1e-6 ? "ns" : s < 1e-3 ? "us" : s < 1 ? "ms" : "s";
    if (!isnan(s)) snprintf(f.text, sizeof f.text, "%.*f %s", x < 10 ? 2 : x < 100 ? 1 : 0, x, unit);
    return f;
}

/* "  *" keeps its place where there is none, so that the figures stay below each other. */
static figure spread_text(double spread)
{
    figure f = { "-  " };
    if (spread > 99.99) return (figure){ ">9999 % *" };
    if (!isnan(spread))
        snprintf(f.text, sizeof f.text, "%.*f %%%s", spread < 9.99 ? 1 : 0, 100 * spread,
                 spread > BENCH_SPREAD_QUIET ? " *" : "  ");
    return f;
}

/* Five characters up to 9999. */
static figure fraction_text(double x)
{
    figure f = { "-" };
    if (!isnan(x)) snprintf(f.text, sizeof f.text, "%.*f", x < 10 ? 3 : x < 100 ? 2 : x < 1000 ? 1 : 0, x);
    return f;
}

/* The last column: the rung's lesson, theory's prediction (" (5 sectors per load)"), the slowest of its parts
 * and the slowest rank; or the error. */
static sentence remark_of(const bench_item *item, const bench_point *p)
{
    sentence s = p->wrong;
    if (!p->verified) return s;
    sentence_set(&s, "%s", item->rung->why);
    for (int i = 0; i < LADDER_PREDICTED_MAX && p->predicted[i].what; i++)
        sentence_add(&s, "%s%.3g %s", i ? ", " : " (", p->predicted[i].value, p->predicted[i].what);
    if (p->predicted[0].what) sentence_add(&s, ")");
    if (p->part_name && !isnan(p->rate / p->part))
        sentence_add(&s, ", %.2f of %s", p->rate / p->part, p->part_name);
    if (p->slowest.stands_out)
        sentence_add(&s, "; slowest: rank %d on %s, %.0f %% over the median", p->slowest.rank,
                     p->slowest.host, 100 * p->slowest.over_median);
    return s;
}

/* ---- the table ---- */

/* A parameter stands above the table where a rung that was asked for takes it and does not scan it. */
static bool stands_above(const bench_request *ask, const ladder_family *f, int parameter)
{
    for (int i = 0; i < ask->items; i++)
        if (ask->item[i].family == f && ladder_takes(ask->item[i].rung, parameter) &&
            !ladder_scans(ask->item[i].rung, parameter))
            return true;
    return false;
}

static void name_text(char *out, const bench_item *item)
{
    snprintf(out, CELL_BYTES, "%s/%s", item->family->name, item->rung->name);
}

/* "steps=12" of a rung that scans steps; else "". */
static void point_text(char *out, const bench_item *item, int64_t at)
{
    const ladder_rung *r = item->rung;
    out[0] = '\0';
    if (r->scan_count > 0)
        snprintf(out, CELL_BYTES, "%s=%lld", item->family->parameter[r->scan].key, (long long)at);
}

static void widen(int *width, const char *text)
{
    if ((int)strlen(text) > *width) *width = (int)strlen(text);
}

/* From the names and points of the family's rungs that were asked for. */
static void set_widths(bench_table *t, const bench_request *ask)
{
    char cell[CELL_BYTES];
    t->name_width = t->point_width = 0;
    for (int i = 0; i < ask->items; i++) {
        const bench_item *item = &ask->item[i];
        if (item->family != t->family) continue;
        name_text(cell, item);
        widen(&t->name_width, cell);
        for (int k = 0; k < bench_request_points(ask, item); k++) {
            point_text(cell, item, bench_request_value(ask, item, k, item->rung->scan));
            widen(&t->point_width, cell);
        }
    }
}

static void print_cells(const bench_table *t, const char *name, const char *point, const char *median,
                        const char *spread, const char *rate, const char *fraction, const char *ceiling)
{
    const bool together = bench_families_together(t->family); /* its ceilings have longer names */
    printf("%-*s  %-*s%s%7s  %9s  %12s  %5s  %-*s  ", t->name_width, name, t->point_width, point,
           t->point_width ? "  " : "", median, spread, rate, fraction, together ? 16 : 7, ceiling);
}

static void print_heading(const bench_table *t, const bench_request *ask, const bench_point *p)
{
    const ladder_family *f = t->family;
    printf("%s: %s\n  %s", f->name, f->shows, f->type_name[p->type] ? f->type_name[p->type] : "");
    for (int i = 0; i < f->parameters; i++)
        if (stands_above(ask, f, i))
            printf("  %s=%lld", f->parameter[i].key,
                   (long long)bench_request_asked(ask, &f->parameter[i], NULL));
    printf("\n");
    print_cells(t, "rung", t->point_width ? "point" : "", "median", "spread  ", "rate", "of it", "ceiling");
    printf("what it shows\n");
}

/* Values above the table that are not what the rung took begin the remark: "n=16384: what it shows". */
static void print_row(const bench_table *t, const bench_request *ask, const bench_item *item,
                      const bench_point *p)
{
    const ladder_family *f = item->family;
    char name[CELL_BYTES], point[CELL_BYTES];
    name_text(name, item);
    point_text(point, item, p->value[item->rung->scan]);
    print_cells(t, name, point, seconds_text(p->time_s.p50).text, spread_text(p->spread).text,
                !p->verified     ? "WRONG"
                : isnan(p->rate) ? "right"
                                 : rate_text(p->rate, item->rung->unit).text,
                fraction_text(p->rate / p->ceiling).text, isnan(p->ceiling) ? "-" : p->ceiling_name);
    for (int i = 0; i < f->parameters; i++)
        if (ladder_takes(item->rung, i) && !ladder_scans(item->rung, i) &&
            p->value[i] != bench_request_value(ask, item, 0, i))
            printf("%s=%lld: ", f->parameter[i].key, (long long)p->value[i]);
    printf("%s\n", remark_of(item, p).text);
}

/* ---- the same as CSV (RFC 4180): columns are only ever added behind the last ---- */

void bench_report_csv_head(void)
{
    printf("family,rung,device,ranks,dtype,parameters,size,samples,repeats,min_s,median_s,p90_s,max_s,spread,"
           "rate,unit,ceiling,ceiling_name,fraction_of_ceiling,verified,remark\n");
}

/* `after`: the comma, or the end of the line. */
static void csv_text(const char *text, char after)
{
    const char *const quote = strpbrk(text, ",\"\r\n") ? "\"" : "";
    fputs(quote, stdout);
    for (; *text; text++) {
        if (*text == '"') putchar('"');
        putchar(*text);
    }
    printf("%s%c", quote, after);
}

static void csv_number(double x)
{
    if (isfinite(x)) printf("%.9g", x);
    putchar(',');
}

static void csv_row(const bench *b, const bench_item *item, const bench_point *p)
{
    const ladder_family *f = item->family;
    const double figures[] = {
        p->time_s.min, p->time_s.p50, p->time_s.p90, p->time_s.max, p->spread, p->rate
    };
    const char *between = "";
    printf("%s,%s,%s,%d,%s,", f->name, item->rung->name, device_of(b), ranks_of(b, f),
           f->type_name[p->type] ? f->type_name[p->type] : "");
    for (int i = 0; i < f->parameters; i++) {
        if (!ladder_takes(item->rung, i)) continue;
        printf("%s%s=%lld", between, f->parameter[i].key, (long long)p->value[i]);
        between = " ";
    }
    printf(",%lld,%d,%d,", (long long)p->size, (int)p->time_s.count, p->repeats);
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) csv_number(figures[i]);
    csv_text(unit_of(item->rung->unit), ',');
    csv_number(p->ceiling);
    csv_text(p->ceiling_name ? p->ceiling_name : "", ',');
    csv_number(p->rate / p->ceiling);
    printf("%s,", p->verified ? "true" : "false");
    csv_text(remark_of(item, p).text, '\n');
}

/* ---- rows, and what stands around them ---- */

void bench_report_row(bench_table *t, const bench *b, const bench_item *item, const bench_point *p)
{
    t->shown++;
    if (p->spread > BENCH_SPREAD_QUIET) t->noisy++;
    if (!b->ask->csv && item->family != t->family) {
        if (t->family) printf("\n");
        t->family = item->family;
        set_widths(t, b->ask);
        print_heading(t, b->ask, p);
    }
    if (b->ask->csv) csv_row(b, item, p);
    else print_row(t, b->ask, item, p);
    fflush(stdout);
}

void bench_report_head(const bench *b)
{
    const topology *top = b->world ? b->world->top : NULL;
    const int threads = b->d->threads;
    if (b->ask->csv) return;
    printf("weft %s (%s)\ndevice %s: %s", version_number, version_git, device_of(b), b->d->name);
    if (b->d->kind == DEVICE_HOST) printf(", %d thread%s", threads, threads == 1 ? "" : "s");
    if (top) printf("\nranks %d on %d host%s", top->ranks, top->hosts, top->hosts == 1 ? "" : "s");
    printf("\n\n");
    fflush(stdout);
}

void bench_report_skipped(bench_table *t, const bench_item *item, int had, const char *why)
{
    if (had == 0 && !item->named) t->skipped++;
    else
        (void)cmd_say(0, "%s/%s skipped%s: %s", item->family->name, item->rung->name,
                      had > 0 ? " at one point" : "", why);
}

void bench_report_foot(bench_table *t, const bench *b)
{
    int noisy = t->noisy;
    if (b->ask->csv) return;
    if (t->shown > 0) printf("\n");
    for (int i = 0; i < b->ceilings; i++) {
        const bench_ceiling *c = &b->ceiling[i];
        printf("%s %s %s%s", i ? "," : "ceilings of this run:", c->name, rate_text(c->rate, c->unit).text,
               c->spread > BENCH_SPREAD_QUIET ? " *" : "");
        noisy += c->spread > BENCH_SPREAD_QUIET;
    }
    if (b->ceilings > 0) printf("\n");
    if (noisy > 0)
        printf("* The spread is above %.0f %%: the machine was not quiet for %d of %d rows and ceilings.\n",
               100 * BENCH_SPREAD_QUIET, noisy, t->shown + b->ceilings);
    if (t->skipped > 0)
        printf("Skipped: %d rung%s that cannot run here. `weft bench --list` names them; a rung given by "
               "name prints why.\n",
               t->skipped, t->skipped == 1 ? "" : "s");
}

/* ---- records ---- */

static json_t *values_json(const bench_item *item, const int64_t *values)
{
    json_t *o = json_object();
    for (int i = 0; i < item->family->parameters; i++)
        if (ladder_takes(item->rung, i))
            json_object_set_new(o, item->family->parameter[i].key, json_integer((json_int_t)values[i]));
    return o;
}

/* All that were measured so far for this type of data: {"copy": 4.2e12, ...}. */
static json_t *ceilings_json(const bench *b)
{
    json_t *o = json_object();
    for (int i = 0; i < b->ceilings; i++)
        if (b->ceiling[i].type == b->ask->type)
            json_object_set_new(o, b->ceiling[i].name, record_number(b->ceiling[i].rate));
    return o;
}

/* {"sectors per load": 5, ...}, or null. */
static json_t *predicted_json(const ladder_predicted *predicted)
{
    if (!predicted[0].what) return json_null();
    json_t *o = json_object();
    for (int i = 0; i < LADDER_PREDICTED_MAX; i++)
        if (predicted[i].what) json_object_set_new(o, predicted[i].what, record_number(predicted[i].value));
    return o;
}

/* {"name": "host copies", "rate": 5e10, "fraction": 0.9}, or null. */
static json_t *part_json(const bench_point *p)
{
    if (!p->part_name) return json_null();
    return json_pack("{s:s, s:o, s:o}", "name", p->part_name, "rate", record_number(p->part), "fraction",
                     record_number(p->rate / p->part));
}

/* The part of a record that holds for one point: a rung's own figures, or an entry of its scan. */
static json_t *point_json(const bench_item *item, const bench_point *p)
{
    return json_pack(
        "{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:i, s:i, s:o, s:o, s:o, s:o}", "size",
        (json_int_t)p->size, "time_s", record_percentiles(&p->time_s), "spread", record_number(p->spread),
        "rate", record_number(p->rate), "flops_per_byte", record_number(p->flops_per_byte), "ceiling",
        record_number(p->ceiling), "ceiling_name", record_text_or_null(p->ceiling_name),
        "fraction_of_ceiling", record_number(p->rate / p->ceiling), "verified", p->verified, "wrong",
        p->verified ? json_null() : json_string(p->wrong.text), "samples", (int)p->time_s.count, "repeats",
        p->repeats, "parameters", values_json(item, p->value), "predicted", predicted_json(p->predicted),
        "slowest_part", part_json(p), "slowest", record_straggler(&p->slowest));
}

void bench_report_record(json_t *o, const bench *b, const bench_item *item, const bench_point *point,
                         int points)
{
    const ladder_family *f = item->family;
    const ladder_rung *r = item->rung;
    const char *type = f->type_name[point[points - 1].type];
    bool verified = true;
    json_object_update_new(o, point_json(item, &point[points - 1]));
    json_object_update_new(o, json_pack("{s:s, s:s, s:s, s:s, s:i, s:o, s:s, s:o}", "family", f->name, "rung",
                                        r->name, "why", r->why, "device", device_of(b), "ranks",
                                        ranks_of(b, f), "dtype", record_text_or_null(type), "unit",
                                        unit_of(r->unit), "ceilings", ceilings_json(b)));
    json_t *scan = json_array();
    for (int i = 0; i < points; i++) {
        verified = verified && point[i].verified;
        if (r->scan_count > 0) json_array_append_new(scan, point_json(item, &point[i]));
    }
    json_object_set_new(o, "verified", json_boolean(verified));
    if (!verified) json_object_set_new(o, "rate", json_null());
    if (r->scan_count > 0) json_object_set_new(o, "swept", json_string(f->parameter[r->scan].key));
    json_object_set_new(o, "sweep", scan);
}
