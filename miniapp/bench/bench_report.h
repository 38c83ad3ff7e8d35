/* What `weft bench` prints around its tables, and its records (docs/contract.md, "Bench record"). */
#pragma once

#include <jansson.h>

#include "bench/bench_table.h"

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
