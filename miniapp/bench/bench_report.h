/* What weft bench prints and records: tables, with a heading for each family and a rung's rows as soon as it
 * has been measured, or CSV; what stands around them; records (docs/contract.md, "Bench record"). Columns and
 * widths follow from the rungs that were asked for. */
#pragma once

#include <jansson.h>

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

void bench_report_head(const bench *b);
/* The rows of a rung, in a table or as CSV. */
void bench_report_rows(bench_table *t, const bench *b);
/* Where stderr is a terminal: a line that tells which rung of its family is being climbed. What is printed
 * next takes its place. */
void bench_report_progress(bench_table *t, const bench *b, const bench_item *item);
/* had: points of the rung that could run. Without any it is counted, or, where it was asked for by name, a
 * sentence on stderr tells why; otherwise the sentence is about this point. */
void bench_report_skipped(bench_table *t, const bench_item *item, int had, const char *why);
/* What stood behind the fractions, how quiet the machine was, and how many rungs are missing. */
void bench_report_foot(const bench_table *t, const bench *b);

/* A rung's record: the figures of its last point, and with a scan all points. Adds to o what is the rung's
 * own. */
void bench_report_record(json_t *o, const bench *b, const bench_item *item, const bench_point *point,
                         int points);
