#include "bench/bench_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/terminal.h"
#include "bench/bench_families.h"
#include "ranks/check.h"

enum { CELL_BYTES = 512, COLUMNS_MAX = LADDER_PARAMETERS_MAX + 7 };

bool bench_table_has(const ladder_rung *r, int parameter) { return (r->ignores >> parameter & 1u) == 0; }

/* ---- rows ---- */

/* Does `a` belong behind `b`, which was there first? */
static bool behind(const bench_row *a, const bench_row *b)
{
    const ladder_rung *r = a->item.rung;
    return r != b->item.rung || r->scan_count == 0 || a->point.value[r->scan] >= b->point.value[r->scan];
}

void bench_table_add(bench_table *t, const bench_item *item, const bench_point *p)
{
    const bench_row added = { *item, *p };
    bench_row *row = CHECK_ALLOC(realloc(t->row, (size_t)(t->rows + 1) * sizeof *row));
    int at = t->rows++;
    for (; at > 0 && !behind(&added, &row[at - 1]); at--) row[at] = row[at - 1];
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
    static const char *const name[] = { [LADDER_BYTES] = "B/s", [LADDER_FLOPS] = "flop/s", [LADDER_CALLS] = "1/s" };
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
    else snprintf(out, CELL_BYTES, "%.1f %%%s", 100 * spread, spread > BENCH_SPREAD_QUIET ? " *" : "  ");
}

/* What the rung shows, what theory predicts of it (" (5 sectors per load)"), the slowest of its parts and the slowest rank; or what is
 * wrong. */
static void remark_cell(char *out, const bench_row *r)
{
    const bench_point *p = &r->point;
    if (!p->verified) {
        snprintf(out, CELL_BYTES, "%.*s", CELL_BYTES - 1, p->wrong.text);
        return;
    }
    size_t at = (size_t)snprintf(out, CELL_BYTES, "%s", r->item.rung->why);
    for (int i = 0; i < LADDER_PREDICTED_MAX && p->predicted[i].what && at < CELL_BYTES; i++)
        at += (size_t)snprintf(out + at, CELL_BYTES - at, "%s%.3g %s%s", i ? ", " : " (", p->predicted[i].value,
                               p->predicted[i].what, i + 1 == LADDER_PREDICTED_MAX || !p->predicted[i + 1].what ? ")" : "");
    if (p->part_name && !isnan(p->rate / p->part) && at < CELL_BYTES)
        at += (size_t)snprintf(out + at, CELL_BYTES - at, ", %.2f of %s", p->rate / p->part, p->part_name);
    if (p->slowest.stands_out && at < CELL_BYTES)
        snprintf(out + at, CELL_BYTES - at, "; slowest: rank %d on %s, %.0f %% over the median", p->slowest.rank,
                 p->slowest.host, 100 * p->slowest.over_median);
}

enum { NAME, MEDIAN, SPREAD, RATE, FRACTION, CEILING, REMARK, PARAMETERS }; /* columns; from PARAMETERS on one a parameter */

static void cell_text(char *out, int column, const bench_row *r)
{
    const bench_point *p = &r->point;
    snprintf(out, CELL_BYTES, "-");
    if (column == NAME) snprintf(out, CELL_BYTES, "%s/%s", r->item.family->name, r->item.rung->name);
    else if (column == MEDIAN && !isnan(p->time_s.p50)) seconds_text(out, CELL_BYTES, p->time_s.p50);
    else if (column == SPREAD) spread_cell(out, r);
    else if (column == RATE) rate_cell(out, r);
    else if (column == FRACTION && !isnan(p->rate / p->ceiling)) snprintf(out, CELL_BYTES, "%.3f", p->rate / p->ceiling);
    else if (column == CEILING && !isnan(p->ceiling)) snprintf(out, CELL_BYTES, "%s", p->ceiling_name);
    else if (column == REMARK) remark_cell(out, r);
    else if (column >= PARAMETERS && bench_table_has(r->item.rung, column - PARAMETERS))
        snprintf(out, CELL_BYTES, "%lld", (long long)p->value[column - PARAMETERS]);
}

/* ---- the table ---- */

static const char *heading(const bench_table *t, int column)
{
    static const char *const headings[] = { "rung", "median", "spread  ", "rate", "of it", "ceiling", "what it shows" };
    return column < PARAMETERS ? headings[column] : t->row[0].item.family->parameter[column - PARAMETERS].key;
}

/* The first row with that parameter, or NULL; *differs: is there one of another value? */
static const bench_row *first_with(const bench_table *t, int parameter, bool *differs)
{
    const bench_row *first = NULL;
    *differs = false;
    for (int i = 0; i < t->rows; i++) {
        if (!bench_table_has(t->row[i].item.rung, parameter)) continue;
        if (!first) first = &t->row[i];
        if (t->row[i].point.value[parameter] != first->point.value[parameter]) *differs = true;
    }
    return first;
}

/* The columns from left to right. A parameter that has one value in all rows stands above the table instead. */
static int choose_columns(const bench_table *t, int *column)
{
    static const int others[] = { MEDIAN, SPREAD, RATE, FRACTION, CEILING, REMARK };
    int columns = 0;
    bool differs;
    column[columns++] = NAME;
    for (int i = 0; i < t->row[0].item.family->parameters; i++)
        if (first_with(t, i, &differs) && differs) column[columns++] = PARAMETERS + i;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) column[columns++] = others[i];
    return columns;
}

static void print_title(const bench_table *t)
{
    const ladder_family *f = t->row[0].item.family;
    const char *type = f->type_name[t->row[0].point.type];
    bool differs;
    printf("%s: %s\n  %s", f->name, f->shows, type ? type : "");
    for (int i = 0; i < f->parameters; i++) {
        const bench_row *first = first_with(t, i, &differs);
        if (first && !differs) printf("  %s=%lld", f->parameter[i].key, (long long)first->point.value[i]);
    }
    printf("\n");
}

static int width_of(const bench_table *t, int column)
{
    char cell[CELL_BYTES];
    size_t width = strlen(heading(t, column));
    for (int i = 0; i < t->rows; i++) {
        cell_text(cell, column, &t->row[i]);
        if (strlen(cell) > width) width = strlen(cell);
    }
    return (int)width;
}

static void print_cell(int column, int width, const char *text)
{
    if (column == REMARK) printf("  %s\n", text);
    else if (column == NAME) printf("%-*s", width, text);
    else if (column == CEILING) printf("  %-*s", width, text);
    else printf("  %*s", width, text);
}

void bench_table_print(bench_table *t)
{
    int column[COLUMNS_MAX], width[COLUMNS_MAX];
    char cell[CELL_BYTES];
    if (t->rows == 0) return;
    const int columns = choose_columns(t, column);
    print_title(t);
    for (int k = 0; k < columns; k++) {
        width[k] = width_of(t, column[k]);
        print_cell(column[k], width[k], heading(t, column[k]));
    }
    for (int i = 0; i < t->rows; i++)
        for (int k = 0; k < columns; k++) {
            cell_text(cell, column[k], &t->row[i]);
            print_cell(column[k], width[k], cell);
        }
    printf("\n");
    fflush(stdout);
    forget(t);
}

/* ---- the same as CSV (RFC 4180): columns are only ever added behind the last ---- */

void bench_table_print_csv_head(void)
{
    printf("family,rung,device,ranks,dtype,parameters,size,samples,repeats,min_s,median_s,p90_s,max_s,spread,rate,unit,"
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
    printf("%d,%s,", bench_families_together(f) ? b->world->top->ranks : 1, f->type_name[p->type] ? f->type_name[p->type] : "");
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
