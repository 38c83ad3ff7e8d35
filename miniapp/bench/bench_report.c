#include "bench/bench_report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cmd.h"
#include "base/terminal.h"
#include "base/version.h"
#include "bench/bench_families.h"
#include "output/record.h"
#include "ranks/check.h"

enum { CELL_BYTES = 512 };

/* Is the family's parameter of any meaning to the rung? */
static bool has(const ladder_rung *r, int parameter) { return (r->ignores >> parameter & 1u) == 0; }

/* ---- rows ---- */

void bench_table_add(bench_table *t, const bench_item *item, const bench_point *p)
{
    const bench_row added = { *item, *p };
    bench_row *row = CHECK_ALLOC(realloc(t->row, (size_t)(t->rows + 1) * sizeof *row));
    const int by = item->rung->scan;
    int at = t->rows++;
    for (; at > 0 && p->value[by] < row[at - 1].point.value[by]; at--) row[at] = row[at - 1];
    row[at] = added;
    t->row = row;
    t->shown++;
    if (p->spread > BENCH_SPREAD_QUIET) t->noisy++;
}

static void forget(bench_table *t)
{
    free(t->row);
    t->row = NULL;
    t->rows = 0;
}

/* ---- cells ---- */

static const char *seconds_text(char *out, size_t bytes, double s)
{
    const double scale = s < 1e-6 ? 1e9 : s < 1e-3 ? 1e6 : s < 1 ? 1e3 : 1;
    const char *unit = s < 1e-6 ? "ns" : s < 1e-3 ? "us" : s < 1 ? "ms" : "s";
    const double x = s * scale;
    snprintf(out, bytes, "%.*f %s", x < 10 ? 2 : x < 100 ? 1 : 0, x, unit);
    return out;
}

static const char *unit_of(ladder_unit unit)
{
    static const char *const name[] = {
        [LADDER_BYTES] = "B/s", [LADDER_FLOPS] = "flop/s", [LADDER_CALLS] = "1/s"
    };
    return name[unit];
}

/* "4.28 TB/s": three digits and a unit. */
static const char *rate_text(char *out, size_t bytes, double rate, ladder_unit unit)
{
    return terminal_rate(out, bytes, rate, unit == LADDER_CALLS ? "/s" : unit_of(unit));
}

static void rate_cell(char *out, const bench_row *r)
{
    if (!r->point.verified) snprintf(out, CELL_BYTES, "WRONG");
    else if (isnan(r->point.rate)) snprintf(out, CELL_BYTES, "right");
    else rate_text(out, CELL_BYTES, r->point.rate, r->item.rung->unit);
}

/* "  *" keeps its place where there is none, so that the figures stay below each other. */
static void spread_cell(char *out, const bench_row *r)
{
    const double spread = r->point.spread;
    if (isnan(spread)) snprintf(out, CELL_BYTES, "-  ");
    else if (spread > 99.99) snprintf(out, CELL_BYTES, ">9999 %% *");
    else
        snprintf(out, CELL_BYTES, "%.*f %%%s", spread < 9.99 ? 1 : 0, 100 * spread,
                 spread > BENCH_SPREAD_QUIET ? " *" : "  ");
}

/* What the rung shows, what theory predicts of it (" (5 sectors per load)"), the slowest of its parts and the
 * slowest rank; or what is wrong. */
static void remark_cell(char *out, const bench_row *r)
{
    const bench_point *p = &r->point;
    if (!p->verified) {
        snprintf(out, CELL_BYTES, "%.*s", CELL_BYTES - 1, p->wrong.text);
        return;
    }
    size_t at = (size_t)snprintf(out, CELL_BYTES, "%s", r->item.rung->why);
    for (int i = 0; i < LADDER_PREDICTED_MAX && p->predicted[i].what && at < CELL_BYTES; i++)
        at += (size_t)snprintf(out + at, CELL_BYTES - at, "%s%.3g %s%s", i ? ", " : " (",
                               p->predicted[i].value, p->predicted[i].what,
                               i + 1 == LADDER_PREDICTED_MAX || !p->predicted[i + 1].what ? ")" : "");
    if (p->part_name && !isnan(p->rate / p->part) && at < CELL_BYTES)
        at += (size_t)snprintf(out + at, CELL_BYTES - at, ", %.2f of %s", p->rate / p->part, p->part_name);
    if (p->slowest.stands_out && at < CELL_BYTES)
        snprintf(out + at, CELL_BYTES - at, "; slowest: rank %d on %s, %.0f %% over the median",
                 p->slowest.rank, p->slowest.host, 100 * p->slowest.over_median);
}

/* Five characters up to 9999. */
static void fraction_cell(char *out, double x)
{
    snprintf(out, CELL_BYTES, "%.*f", x < 10 ? 3 : x < 100 ? 2 : x < 1000 ? 1 : 0, x);
}

/* columns; from PARAMETERS on one a parameter */
enum { NAME, MEDIAN, SPREAD, RATE, FRACTION, CEILING, REMARK, PARAMETERS };

static void cell_text(char *out, int column, const bench_row *r)
{
    const bench_point *p = &r->point;
    snprintf(out, CELL_BYTES, "-");
    if (column == NAME) snprintf(out, CELL_BYTES, "%s/%s", r->item.family->name, r->item.rung->name);
    else if (column == MEDIAN && !isnan(p->time_s.p50)) seconds_text(out, CELL_BYTES, p->time_s.p50);
    else if (column == SPREAD) spread_cell(out, r);
    else if (column == RATE) rate_cell(out, r);
    else if (column == FRACTION && !isnan(p->rate / p->ceiling)) fraction_cell(out, p->rate / p->ceiling);
    else if (column == CEILING && !isnan(p->ceiling)) snprintf(out, CELL_BYTES, "%s", p->ceiling_name);
    else if (column >= PARAMETERS && has(r->item.rung, column - PARAMETERS))
        snprintf(out, CELL_BYTES, "%lld", (long long)p->value[column - PARAMETERS]);
}

/* ---- the table ---- */

/* The least width is that of "1000 us", "999.9 % *", "0.999". */
static const struct {
    const char *heading;
    size_t least;
} columns[PARAMETERS] = {
    [NAME] = { "rung", 0 },
    [MEDIAN] = { "median", 7 },
    [SPREAD] = { "spread  ", 9 },
    [RATE] = { "rate", 0 },
    [FRACTION] = { "of it", 5 },
    [CEILING] = { "ceiling", 0 },
    [REMARK] = { "what it shows", 0 },
};

static const char *heading(const ladder_family *f, int column)
{
    return column < PARAMETERS ? columns[column].heading : f->parameter[column - PARAMETERS].key;
}

static bool scans(const bench_item *item, int parameter)
{
    return item->rung->scan_count > 0 && item->rung->scan == parameter;
}

/* A parameter that a rung scans has a column; others that a rung has stand above the table. */
typedef enum place { NOWHERE, ABOVE, COLUMN } place;
static place place_of(const bench_request *ask, const ladder_family *f, int parameter)
{
    place found = NOWHERE;
    for (int i = 0; i < ask->items; i++) {
        if (ask->item[i].family != f) continue;
        if (scans(&ask->item[i], parameter)) return COLUMN;
        if (has(ask->item[i].rung, parameter)) found = ABOVE;
    }
    return found;
}

static size_t digits(int64_t n) { return (size_t)snprintf(NULL, 0, "%lld", (long long)n); }

/* The width of what the rung will print there. */
static size_t width_of(const bench_request *ask, const bench_item *item, int column)
{
    const ladder_rung *r = item->rung;
    bool was_set = false;
    char rate[32];
    if (column == NAME) return strlen(item->family->name) + 1 + strlen(r->name);
    if (column == RATE) return strlen(rate_text(rate, sizeof rate, 1.23e12, r->unit));
    if (column == CEILING && bench_families_together(item->family)) return strlen("Alltoall, device");
    if (column == CEILING) return r->ceiling ? strlen(r->ceiling) : 0;
    if (column < PARAMETERS) return columns[column].least;
    size_t most = digits(bench_request_value(ask, &item->family->parameter[column - PARAMETERS], &was_set));
    for (int i = 0; i < r->scan_count && scans(item, column - PARAMETERS) && !was_set; i++)
        if (digits(r->scan_values[i]) > most) most = digits(r->scan_values[i]);
    return most;
}

static void print_cell(int column, int width, const char *text)
{
    if (column == REMARK) printf("  %s\n", text);
    else if (column == NAME) printf("%-*s", width, text);
    else if (column == CEILING) printf("  %-*s", width, text);
    else printf("  %*s", width, text);
}

static void add_column(bench_table *t, const bench_request *ask, int column)
{
    size_t width = strlen(heading(t->family, column));
    for (int i = 0; i < ask->items; i++) {
        if (ask->item[i].family != t->family) continue;
        const size_t needed = width_of(ask, &ask->item[i], column);
        if (needed > width) width = needed;
    }
    t->width[t->columns] = (int)width;
    t->column[t->columns++] = column;
}

static void print_heading(bench_table *t, const bench_request *ask)
{
    const ladder_family *f = t->family;
    const char *type = f->type_name[t->row[0].point.type];
    bool was_set;
    printf("%s: %s\n  %s", f->name, f->shows, type ? type : "");
    t->columns = 0;
    add_column(t, ask, NAME);
    for (int i = 0; i < f->parameters; i++) {
        const place p = place_of(ask, f, i);
        if (p == COLUMN) add_column(t, ask, PARAMETERS + i);
        if (p == ABOVE)
            printf("  %s=%lld", f->parameter[i].key,
                   (long long)bench_request_value(ask, &f->parameter[i], &was_set));
    }
    for (int column = MEDIAN; column < PARAMETERS; column++) add_column(t, ask, column);
    printf("\n");
    for (int k = 0; k < t->columns; k++) print_cell(t->column[k], t->width[k], heading(f, t->column[k]));
}

/* Parameters whose value above the table is not what the rung took: "n=16384: what it shows". */
static void print_remark(const bench_request *ask, const bench_row *r)
{
    const ladder_family *f = r->item.family;
    char cell[CELL_BYTES];
    bool was_set;
    printf("  ");
    for (int i = 0; i < f->parameters; i++) {
        const int64_t taken = r->point.value[i];
        if (!has(r->item.rung, i) || place_of(ask, f, i) == COLUMN) continue;
        if (taken != bench_request_value(ask, &f->parameter[i], &was_set))
            printf("%s=%lld: ", f->parameter[i].key, (long long)taken);
    }
    remark_cell(cell, r);
    printf("%s\n", cell);
}

static void print_row(const bench_table *t, const bench_request *ask, const bench_row *r)
{
    char cell[CELL_BYTES];
    for (int k = 0; t->column[k] != REMARK; k++) {
        cell_text(cell, t->column[k], r);
        print_cell(t->column[k], t->width[k], cell);
    }
    print_remark(ask, r);
}

void bench_table_print(bench_table *t, const bench_request *ask)
{
    if (t->rows > 0 && t->row[0].item.family != t->family) {
        if (t->family) printf("\n");
        t->family = t->row[0].item.family;
        print_heading(t, ask);
    }
    for (int i = 0; i < t->rows; i++) print_row(t, ask, &t->row[i]);
    fflush(stdout);
    forget(t);
}

/* ---- the same as CSV (RFC 4180): columns are only ever added behind the last ---- */

void bench_table_print_csv_head(void)
{
    printf("family,rung,device,ranks,dtype,parameters,size,samples,repeats,min_s,median_s,p90_s,max_s,spread,"
           "rate,unit,"
           "ceiling,ceiling_name,fraction_of_ceiling,verified,remark\n");
}

/* `after`: the comma, or the end of the line. */
static void csv_text(const char *text, char after)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, stdout);
    } else {
        putchar('"');
        for (; *text; text++) {
            if (*text == '"') putchar('"');
            putchar(*text);
        }
        putchar('"');
    }
    putchar(after);
}

static void csv_number(double x)
{
    if (isfinite(x)) printf("%.9g", x);
    putchar(',');
}

/* "nx=4096 ny=4096" */
static void csv_parameters(const bench_row *r)
{
    const ladder_family *f = r->item.family;
    bool first = true;
    for (int i = 0; i < f->parameters; i++) {
        if (!has(r->item.rung, i)) continue;
        printf("%s%s=%lld", first ? "" : " ", f->parameter[i].key, (long long)r->point.value[i]);
        first = false;
    }
    putchar(',');
}

static void csv_row(const bench_row *r, const bench *b)
{
    const bench_point *p = &r->point;
    const ladder_family *f = r->item.family;
    char remark[CELL_BYTES];
    const double time_s[] = { p->time_s.min, p->time_s.p50, p->time_s.p90, p->time_s.max };
    csv_text(f->name, ',');
    csv_text(r->item.rung->name, ',');
    csv_text(b->d->kind == DEVICE_HOST ? "host" : "cuda", ',');
    printf("%d,%s,", bench_families_together(f) ? b->world->top->ranks : 1,
           f->type_name[p->type] ? f->type_name[p->type] : "");
    csv_parameters(r);
    printf("%lld,%d,%d,", (long long)p->size, (int)p->time_s.count, p->repeats);
    for (int i = 0; i < 4; i++) csv_number(time_s[i]);
    csv_number(p->spread);
    csv_number(p->rate);
    csv_text(unit_of(r->item.rung->unit), ',');
    csv_number(p->ceiling);
    csv_text(p->ceiling_name ? p->ceiling_name : "", ',');
    csv_number(p->rate / p->ceiling);
    csv_text(p->verified ? "true" : "false", ',');
    remark_cell(remark, r);
    csv_text(remark, '\n');
}

void bench_table_print_csv(bench_table *t, const bench *b)
{
    for (int i = 0; i < t->rows; i++) csv_row(&t->row[i], b);
    fflush(stdout);
    forget(t);
}

/* ---- around the rows ---- */

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
               rate_text(rate, sizeof rate, b->ceiling[i].rate, b->ceiling[i].unit), marked ? " *" : "");
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

/* ---- records ---- */

static json_t *values_json(const bench_item *item, const int64_t *values)
{
    json_t *o = json_object();
    for (int i = 0; i < item->family->parameters; i++)
        if (has(item->rung, i))
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
    json_object_update_new(
        o, json_pack("{s:s, s:s, s:s, s:s, s:i, s:o, s:s, s:o}", "family", f->name, "rung", r->name, "why",
                     r->why, "device", b->d->kind == DEVICE_HOST ? "host" : "cuda", "ranks",
                     bench_families_together(f) ? b->world->top->ranks : 1, "dtype",
                     record_text_or_null(type), "unit", unit_of(r->unit), "ceilings", ceilings_json(b)));
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
