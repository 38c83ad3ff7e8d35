#include "bench/bench_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/terminal.h"
#include "bench/bench_families.h"
#include "ranks/check.h"

enum { CELL_BYTES = 512 };

bool bench_table_has(const ladder_rung *r, int parameter) { return (r->ignores >> parameter & 1u) == 0; }

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

const char *bench_table_unit(ladder_unit unit)
{
    static const char *const name[] = {
        [LADDER_BYTES] = "B/s", [LADDER_FLOPS] = "flop/s", [LADDER_CALLS] = "1/s"
    };
    return name[unit];
}

const char *bench_table_rate(char *out, size_t bytes, double rate, ladder_unit unit)
{
    return terminal_rate(out, bytes, rate, unit == LADDER_CALLS ? "/s" : bench_table_unit(unit));
}

static void rate_cell(char *out, const bench_row *r)
{
    if (!r->point.verified) snprintf(out, CELL_BYTES, "WRONG");
    else if (isnan(r->point.rate)) snprintf(out, CELL_BYTES, "right");
    else bench_table_rate(out, CELL_BYTES, r->point.rate, r->item.rung->unit);
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
    else if (column >= PARAMETERS && bench_table_has(r->item.rung, column - PARAMETERS))
        snprintf(out, CELL_BYTES, "%lld", (long long)p->value[column - PARAMETERS]);
}

/* ---- the table ---- */

static const char *heading(const ladder_family *f, int column)
{
    static const char *const headings[] = { "rung",  "median",  "spread  ",     "rate",
                                            "of it", "ceiling", "what it shows" };
    return column < PARAMETERS ? headings[column] : f->parameter[column - PARAMETERS].key;
}

/* The request's next item of the family, from *at on; NULL: no more. */
static const bench_item *next_item(const bench_request *ask, const ladder_family *f, int *at)
{
    while (*at < ask->items && ask->item[*at].family != f) ++*at;
    return *at < ask->items ? &ask->item[(*at)++] : NULL;
}

static bool scans(const bench_item *item, int parameter)
{
    return item->rung->scan_count > 0 && item->rung->scan == parameter;
}

/* A parameter that a rung scans has a column; others that a rung has stand above the table. */
static bool has_column(const bench_request *ask, const ladder_family *f, int parameter)
{
    const bench_item *item;
    for (int i = 0; (item = next_item(ask, f, &i));)
        if (scans(item, parameter)) return true;
    return false;
}

static bool stands_above(const bench_request *ask, const ladder_family *f, int parameter)
{
    const bench_item *item;
    for (int i = 0; (item = next_item(ask, f, &i));)
        if (bench_table_has(item->rung, parameter)) return !has_column(ask, f, parameter);
    return false;
}

static int digits(int64_t n) { return snprintf(NULL, 0, "%lld", (long long)n); }

/* The width of what the rung will print there. */
static int width_of(const bench_request *ask, const bench_item *item, int column)
{
    enum {
        MEDIAN_WIDTH = sizeof "1000 us" - 1,
        SPREAD_WIDTH = sizeof "999.9 % *" - 1,
        FRACTION_WIDTH = sizeof "0.999" - 1,
        WAY_WIDTH = sizeof "Alltoall, device" - 1
    };
    const ladder_rung *r = item->rung;
    bool was_set = false;
    char rate[32];
    switch (column) {
    case NAME: return (int)(strlen(item->family->name) + 1 + strlen(r->name));
    case MEDIAN: return MEDIAN_WIDTH;
    case SPREAD: return SPREAD_WIDTH;
    case RATE: return (int)strlen(bench_table_rate(rate, sizeof rate, 1.23e12, r->unit));
    case FRACTION: return FRACTION_WIDTH;
    case CEILING:
        return bench_families_together(item->family) ? WAY_WIDTH : r->ceiling ? (int)strlen(r->ceiling) : 0;
    case REMARK: return 0;
    }
    int most = digits(bench_request_value(ask, &item->family->parameter[column - PARAMETERS], &was_set));
    for (int i = 0; i < r->scan_count && scans(item, column - PARAMETERS) && !was_set; i++)
        if (digits(r->scan_values[i]) > most) most = digits(r->scan_values[i]);
    return most;
}

static void add_column(bench_table *t, const bench_request *ask, int column)
{
    const bench_item *item;
    int *const width = &t->width[t->columns];
    *width = (int)strlen(heading(t->family, column));
    for (int i = 0; (item = next_item(ask, t->family, &i));) {
        const int needed = width_of(ask, item, column);
        if (needed > *width) *width = needed;
    }
    t->column[t->columns++] = column;
}

static void print_cell(int column, int width, const char *text)
{
    if (column == REMARK) printf("  %s\n", text);
    else if (column == NAME) printf("%-*s", width, text);
    else if (column == CEILING) printf("  %-*s", width, text);
    else printf("  %*s", width, text);
}

static void print_heading(bench_table *t, const bench_request *ask)
{
    static const int others[] = { MEDIAN, SPREAD, RATE, FRACTION, CEILING, REMARK };
    const ladder_family *f = t->family;
    const char *type = f->type_name[t->row[0].point.type];
    bool was_set;
    printf("%s: %s\n  %s", f->name, f->shows, type ? type : "");
    t->columns = 0;
    add_column(t, ask, NAME);
    for (int i = 0; i < f->parameters; i++) {
        if (has_column(ask, f, i)) add_column(t, ask, PARAMETERS + i);
        else if (stands_above(ask, f, i))
            printf("  %s=%lld", f->parameter[i].key,
                   (long long)bench_request_value(ask, &f->parameter[i], &was_set));
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) add_column(t, ask, others[i]);
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
        if (!bench_table_has(r->item.rung, i) || has_column(ask, f, i)) continue;
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
        if (!bench_table_has(r->item.rung, i)) continue;
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
    csv_text(bench_table_unit(r->item.rung->unit), ',');
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
