/* What `weft bench` prints and leaves. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <jansson.h>

#include "bench_measure.h"

void bench_report_list(device_kind kind, device *d, const bench_request *ask);
void bench_report_head(const bench *b);
void bench_report_line(const bench_item *item, const bench_point *p);
/* The last line: what stood behind the fractions. */
void bench_report_ceilings(const bench *b);
void bench_report_missing(const bench_item *item, const char *why);

/* A rung's record: the figures of its last point, and with a sweep all points. Adds to o what is the rung's own. */
void bench_report_record(json_t *o, const bench *b, const bench_item *item, const bench_point *point, int points);

#endif
