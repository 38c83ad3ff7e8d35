/* Output of weft bench, on the terminal and in records: each row as soon as it is measured, in a table per
 * family or as CSV; what stands around the rows; records (docs/contract.md, "Bench record"). Columns are as
 * wide as the rungs that were asked for need. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "bench/bench_measure.h"

typedef struct bench_table {
    const ladder_family *family; /* whose heading was printed last; NULL: none */
    int name_width, point_width; /* point_width: 0 where none of its rungs scans */
    int shown, noisy, skipped;   /* of all families: rows, those of a spread above BENCH_SPREAD_QUIET, rungs
                                  * that cannot run here */
} bench_table;

void bench_report_csv_head(void);
void bench_report_head(const bench *b);
/* A row, behind the heading if it is its family's first. */
void bench_report_row(bench_table *t, const bench *b, const bench_item *item, const bench_point *p);
/* had: points of the rung that could run. Without any it is counted, or, where it was asked for by name, a
 * sentence on stderr tells why; otherwise the sentence is about this point. */
void bench_report_skipped(bench_table *t, const bench_item *item, int had, const char *why);
/* The ceilings behind the fractions, how quiet the machine was, and how many rungs are missing. */
void bench_report_foot(bench_table *t, const bench *b);

/* A rung's record: the figures of its last point, and with a scan all points. Adds to o what is the rung's
 * own. */
void bench_report_record(json_t *o, const bench *b, const bench_item *item, const bench_point *point,
                         int points);

/* ---- bench_list.c: what weft bench offers, in words: --list, and --help with families. Needs no GPU, and no
 * MPI. ---- */

/* Families, parameters and rungs that were asked for, and which of them cannot run here on `ranks` ranks. */
void bench_list_print(FILE *to, const bench_request *ask, int ranks);
/* Two lines for each family that the command line names: what it shows, and its page; false where it names
 * none. */
bool bench_list_print_help(FILE *to, int argc, char **argv);
