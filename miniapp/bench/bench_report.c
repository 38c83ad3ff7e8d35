#include "bench/bench_report.h"

#include <stdio.h>
#include <unistd.h>

#include "base/cmd.h"
#include "base/version.h"
#include "bench/bench_families.h"
#include "output/record.h"

/* ---- for people ---- */

void bench_report_head(const bench *b)
{
    if (b->ask->csv) return;
    printf("weft %s (%s)\n", version_number, version_git);
    if (b->d->kind == DEVICE_HOST)
        printf("device host: %s, %d thread%s\n", b->d->name, b->d->threads, b->d->threads == 1 ? "" : "s");
    else printf("device cuda: %s\n", b->d->name);
    if (b->world)
        printf("ranks %d on %d host%s\n", b->world->top->ranks, b->world->top->hosts,
               b->world->top->hosts == 1 ? "" : "s");
    printf("\n");
    fflush(stdout);
}

void bench_report_progress(bench_table *t, const bench *b, const bench_item *item)
{
    const bench_item *first = item, *end = item, *all = b->ask->item;
    if (isatty(STDERR_FILENO) != 1) return;
    while (first > all && first[-1].family == item->family) first--;
    while (end < all + b->ask->items && end->family == item->family) end++;
    fprintf(stderr, "\r%s: rung %d of %d\033[K", item->family->name, (int)(item - first) + 1,
            (int)(end - first));
    t->progress = true;
}

static void clear_progress(bench_table *t)
{
    if (t->progress) fprintf(stderr, "\r\033[K");
    t->progress = false;
}

void bench_report_rows(bench_table *t, const bench *b)
{
    clear_progress(t);
    if (b->ask->csv) bench_table_print_csv(t, b);
    else bench_table_print(t, b->ask);
}

void bench_report_skipped(bench_table *t, const bench_item *item, int had, const char *why)
{
    clear_progress(t);
    if (had > 0)
        (void)cmd_say(0, "%s/%s skipped at one point: %s", item->family->name, item->rung->name, why);
    else if (!item->named) t->skipped++;
    else (void)cmd_say(0, "%s/%s skipped: %s", item->family->name, item->rung->name, why);
}

void bench_report_foot(const bench_table *t, const bench *b)
{
    char rate[32];
    int noisy = t->noisy;
    if (b->ask->csv) return;
    if (t->shown > 0) printf("\n");
    for (int i = 0; i < b->ceilings; i++) {
        const bool marked = b->ceiling[i].spread > BENCH_SPREAD_QUIET;
        printf("%s %s %s%s", i ? "," : "ceilings of this run:", b->ceiling[i].name,
               bench_table_rate(rate, sizeof rate, b->ceiling[i].rate, b->ceiling[i].unit),
               marked ? " *" : "");
        noisy += marked;
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

/* ---- for programs ---- */

static json_t *values_json(const bench_item *item, const int64_t *values)
{
    json_t *o = json_object();
    for (int i = 0; i < item->family->parameters; i++)
        if (bench_table_has(item->rung, i))
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

/* What holds for one point: a rung's own figures, or an entry of its scan. */
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
                                        r->name, "why", r->why, "device",
                                        b->d->kind == DEVICE_HOST ? "host" : "cuda", "ranks",
                                        bench_families_together(f) ? b->world->top->ranks : 1, "dtype",
                                        record_text_or_null(type), "unit", bench_table_unit(r->unit),
                                        "ceilings", ceilings_json(b)));
    json_t *scan = json_array();
    for (int i = 0; i < points; i++) {
        verified = verified && point[i].verified;
        if (r->scan_count > 0) json_array_append_new(scan, point_json(item, &point[i]));
    }
    json_object_set_new(o, "verified", json_boolean(verified));
    if (!verified) json_object_set_new(o, "rate", json_null());
    if (r->scan_count > 0)
        json_object_set_new(o, "swept", json_string(f->parameter[r->scan].key));
    json_object_set_new(o, "sweep", scan);
}
