#include "bench_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench_families.h"
#include "record.h"
#include "version.h"

/* ---- for people ---- */

/* Three digits and a unit, whatever the size. */
static const char *seconds_text(char *out, size_t bytes, double s)
{
    const double scale = s < 1e-6 ? 1e9 : s < 1e-3 ? 1e6 : s < 1 ? 1e3 : 1;
    const char *unit = s < 1e-6 ? "ns" : s < 1e-3 ? "us" : s < 1 ? "ms" : "s";
    const double x = s * scale;
    snprintf(out, bytes, "%.*f %s", x < 10 ? 2 : x < 100 ? 1 : 0, x, unit);
    return out;
}

static const char *rate_text(char *out, size_t bytes, double rate, ladder_unit unit)
{
    const double scale = rate < 1e3 ? 1 : rate < 1e6 ? 1e3 : rate < 1e9 ? 1e6 : rate < 1e12 ? 1e9 : 1e12;
    const char *prefix = rate < 1e3 ? "" : rate < 1e6 ? "k" : rate < 1e9 ? "M" : rate < 1e12 ? "G" : "T";
    const double x = rate / scale;
    snprintf(out, bytes, "%.*f %s%s", x < 10 ? 2 : x < 100 ? 1 : 0, x, prefix, unit == LADDER_CALLS ? "/s" : bench_unit_name(unit));
    return out;
}

static const char *count_text(char *out, size_t bytes, int64_t n)
{
    if (n >= 1 << 20 && n % (1 << 30) == 0) snprintf(out, bytes, "%lldG", (long long)(n >> 30));
    else if (n >= 1 << 20 && n % (1 << 20) == 0) snprintf(out, bytes, "%lldM", (long long)(n >> 20));
    else snprintf(out, bytes, "%lld", (long long)n);
    return out;
}

static bool shown(const ladder_rung *r, int parameter) { return (r->ignores >> parameter & 1u) == 0; }

static const char *values_text(char *out, size_t bytes, const bench_item *item, const int64_t *values)
{
    char count[32];
    size_t at = 0;
    out[0] = '\0';
    for (int i = 0; i < item->family->parameters && at < bytes; i++)
        if (shown(item->rung, i))
            at += (size_t)snprintf(out + at, bytes - at, "%s%s=%s", at ? " " : "", item->family->parameter[i].key,
                                   count_text(count, sizeof count, values[i]));
    return out;
}

void bench_report_list(device_kind kind, device *d, const bench_request *ask)
{
    char usual[32];
    const ladder_family *last = NULL;
    printf("rungs of the %s device\n", kind == DEVICE_HOST ? "host" : "cuda");
    for (int i = 0; i < ask->items; i++) {
        const ladder_family *f = ask->item[i].family;
        const ladder_rung *r = ask->item[i].rung;
        if (f != last) {
            printf("\n%s: %s\n", f->name, f->shows);
            for (int p = 0; p < f->parameters; p++)
                printf("  %s=%s  %s\n", f->parameter[p].key, count_text(usual, sizeof usual, f->parameter[p].usual),
                       f->parameter[p].help);
        }
        const char *missing = r->missing ? r->missing(d) : NULL;
        printf("  %s/%-20s %s", f->name, r->name, r->why);
        if (missing) printf(" (not here: %s)", missing);
        printf("\n");
        last = f;
    }
}

void bench_report_head(const bench *b)
{
    printf("weft %s (%s)\n", version_number, version_git);
    if (b->d->kind == DEVICE_HOST)
        printf("device host: %s, %d thread%s\n", b->d->name, b->d->threads, b->d->threads == 1 ? "" : "s");
    else printf("device cuda: %s\n", b->d->name);
    if (b->world)
        printf("ranks %d on %d host%s\n", b->world->top->ranks, b->world->top->hosts, b->world->top->hosts == 1 ? "" : "s");
    printf("\n");
    printf("%-26s %-32s %9s %7s %13s %15s  %s\n", "rung", "parameters", "median", "spread", "rate", "of ceiling", "why");
}

/* " (5 sectors a load, 4 sectors a store)" */
static const char *foretold_text(char *out, size_t bytes, const ladder_foretold *foretold)
{
    size_t at = 0;
    out[0] = '\0';
    for (int i = 0; i < LADDER_FORETOLD_MAX && at < bytes; i++)
        if (foretold[i].what)
            at += (size_t)snprintf(out + at, bytes - at, "%s%.3g %s", at ? ", " : " (", foretold[i].value, foretold[i].what);
    if (at > 0 && at + 1 < bytes) snprintf(out + at, bytes - at, ")");
    return out;
}

void bench_report_line(const bench_item *item, const bench_point *p)
{
    char name[96], values[160], median[32] = "-", spread[32] = "-", rate[32] = "right", fraction[48] = "-";
    char foretold[128], slowest[128] = "";
    const ladder_rung *r = item->rung;
    snprintf(name, sizeof name, "%s/%s", item->family->name, r->name);
    values_text(values, sizeof values, item, p->value);
    if (!p->verified) {
        printf("%-26s %-32s WRONG: %s\n", name, values, p->wrong);
    } else {
        if (!isnan(p->rate)) {
            seconds_text(median, sizeof median, p->time_s.p50);
            snprintf(spread, sizeof spread, "%.1f %%", 100 * (p->time_s.p90 - p->time_s.min) / p->time_s.p50);
            rate_text(rate, sizeof rate, p->rate, r->unit);
        }
        if (!isnan(p->ceiling)) snprintf(fraction, sizeof fraction, "%.3f %s", p->rate / p->ceiling, p->ceiling_name);
        if (p->slowest.stands_out)
            snprintf(slowest, sizeof slowest, "; slowest: rank %d on %s, %.0f %% over the median", p->slowest.rank, p->slowest.host,
                     100 * p->slowest.over_median);
        printf("%-26s %-32s %9s %7s %13s %15s  %s%s%s\n", name, values, median, spread, rate, fraction, r->why,
               foretold_text(foretold, sizeof foretold, p->foretold), slowest);
    }
    fflush(stdout);
}

void bench_report_ceilings(const bench *b)
{
    char rate[32];
    for (int i = 0; i < b->ceilings; i++)
        printf("%s %s %s", i ? "," : "\nceilings of this run:", b->ceiling[i].name,
               rate_text(rate, sizeof rate, b->ceiling[i].rate, b->ceiling[i].unit));
    if (b->ceilings > 0) printf("\n");
}

void bench_report_missing(const bench_item *item, const char *why)
{
    char name[96];
    snprintf(name, sizeof name, "%s/%s", item->family->name, item->rung->name);
    printf("%-26s not here: %s\n", name, why);
}

/* ---- for programs ---- */

static json_t *values_json(const bench_item *item, const int64_t *values)
{
    json_t *o = json_object();
    for (int i = 0; i < item->family->parameters; i++)
        if (shown(item->rung, i)) json_object_set_new(o, item->family->parameter[i].key, json_integer((json_int_t)values[i]));
    return o;
}

/* All that were measured so far for this type of data: {"copy": 4.2e12, ...}. */
static json_t *ceilings_json(const bench *b)
{
    json_t *o = json_object();
    for (int i = 0; i < b->ceilings; i++)
        if (b->ceiling[i].type == b->ask->type) json_object_set_new(o, b->ceiling[i].name, record_number(b->ceiling[i].rate));
    return o;
}

/* {"sectors a load": 5, ...}, or null. */
static json_t *foretold_json(const ladder_foretold *foretold)
{
    if (!foretold[0].what) return json_null();
    json_t *o = json_object();
    for (int i = 0; i < LADDER_FORETOLD_MAX; i++)
        if (foretold[i].what) json_object_set_new(o, foretold[i].what, record_number(foretold[i].value));
    return o;
}

/* What holds for one point: a rung's own figures, or an entry of its sweep. */
static json_t *point_json(const bench_item *item, const bench_point *p)
{
    const timer_percentiles *t = &p->time_s;
    return json_pack("{s:I, s:{s:o, s:o, s:o, s:o, s:o, s:o}, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:i, s:i, s:o, s:o, s:o}",
                     "size", (json_int_t)p->size, "time_s", "min", record_number(t->min), "p50", record_number(t->p50),
                     "p90", record_number(t->p90), "p99", record_number(t->p99), "max", record_number(t->max),
                     "mean", record_number(t->mean), "rate", record_number(p->rate),
                     "flops_per_byte", record_number(p->flops_per_byte), "ceiling", record_number(p->ceiling),
                     "ceiling_name", p->ceiling_name ? json_string(p->ceiling_name) : json_null(),
                     "fraction_of_ceiling", record_number(p->rate / p->ceiling), "verified", p->verified,
                     "wrong", p->verified ? json_null() : json_string(p->wrong), "samples", (int)t->count,
                     "repeats", p->repeats, "parameters", values_json(item, p->value), "foretold", foretold_json(p->foretold),
                     "slowest", record_straggler(&p->slowest));
}

void bench_report_record(json_t *o, const bench *b, const bench_item *item, const bench_point *point, int points)
{
    const ladder_family *f = item->family;
    const ladder_rung *r = item->rung;
    const char *type = f->type_name[point[points - 1].type];
    bool verified = true;
    json_object_update_new(o, point_json(item, &point[points - 1]));
    json_object_update_new(o, json_pack("{s:s, s:s, s:s, s:s, s:i, s:o, s:s, s:o}", "family", f->name, "rung", r->name,
                                        "why", r->why, "device", b->d->kind == DEVICE_HOST ? "host" : "cuda",
                                        "ranks", bench_families_together(f) ? b->world->top->ranks : 1,
                                        "dtype", type ? json_string(type) : json_null(), "unit", bench_unit_name(r->unit),
                                        "ceilings", ceilings_json(b)));
    json_t *sweep = json_array();
    for (int i = 0; i < points; i++) {
        verified = verified && point[i].verified;
        if (r->sweep_count > 0) json_array_append_new(sweep, point_json(item, &point[i]));
    }
    json_object_set_new(o, "verified", json_boolean(verified));
    if (!verified) json_object_set_new(o, "rate", json_null());
    if (r->sweep_count > 0)
        json_object_set_new(o, "swept", json_string(f->parameter[r->sweep].key));
    json_object_set_new(o, "sweep", sweep);
}
