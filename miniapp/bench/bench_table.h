/* The rows of a family of weft bench, kept until it has been climbed: then widths follow from the contents. */
#pragma once

#include "bench/bench_measure.h"

typedef struct bench_row {
    bench_item item;
    bench_point point;
} bench_row;

typedef struct bench_table {
    bench_row *row; /* of one family, a rung's by ascending value of what was scanned; owned */
    int rows;
    int shown, noisy, skipped; /* of all families: rows, those of a spread above BENCH_SPREAD_QUIET, rungs that cannot run here */
    bool progress;             /* a line of bench_report_progress stands on the terminal */
} bench_table;

void bench_table_add(bench_table *t, const bench_item *item, const bench_point *p);
/* To stdout, and then they are forgotten; nothing where there are none. Also releases their memory. */
void bench_table_print(bench_table *t);
void bench_table_print_csv(bench_table *t, const bench *b);
void bench_table_print_csv_head(void);

/* Is the family's parameter of any meaning to the rung? */
bool bench_table_has(const ladder_rung *r, int parameter);
const char *bench_table_unit(ladder_unit unit); /* "B/s" */
/* "4.28 TB/s": three digits and a unit. */
const char *bench_table_rate(char *out, size_t bytes, double rate, ladder_unit unit);
