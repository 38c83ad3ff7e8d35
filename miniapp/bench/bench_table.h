/* The tables of weft bench: a heading for each family, and a rung's rows as soon as it has been measured.
 * Columns and widths follow from the rungs that were asked for. */
#pragma once

#include "bench/bench_measure.h"

typedef struct bench_row {
    bench_item item;
    bench_point point;
} bench_row;

enum { BENCH_COLUMNS_MAX = LADDER_PARAMETERS_MAX + 7 };

typedef struct bench_table {
    bench_row *row; /* of the rung in hand, by ascending value of what it scans; owned */
    int rows;
    const ladder_family *family; /* whose heading was printed last; NULL: none */
    int column[BENCH_COLUMNS_MAX], width[BENCH_COLUMNS_MAX], columns;
    int shown, noisy, skipped; /* of all families: rows, those of a spread above BENCH_SPREAD_QUIET, rungs
                                * that cannot run here */
    bool progress;             /* a line of bench_report_progress stands on the terminal */
} bench_table;

void bench_table_add(bench_table *t, const bench_item *item, const bench_point *p);
/* The rows to stdout, behind the heading if they are a family's first; then they are forgotten. */
void bench_table_print(bench_table *t, const bench_request *ask);
void bench_table_print_csv(bench_table *t, const bench *b);
void bench_table_print_csv_head(void);

/* Is the family's parameter of any meaning to the rung? */
bool bench_table_has(const ladder_rung *r, int parameter);
const char *bench_table_unit(ladder_unit unit); /* "B/s" */
/* "4.28 TB/s": three digits and a unit. */
const char *bench_table_rate(char *out, size_t bytes, double rate, ladder_unit unit);
