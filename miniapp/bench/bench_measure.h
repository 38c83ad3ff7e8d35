/* The engine of `weft bench`: verifies a rung, then times it; and what is printed and recorded of that. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "bench/bench_request.h"
#include "bench/bench_world.h"

typedef struct bench_point { /* a rung at one set of values */
    ladder_case of;          /* closed. Where it is missing nothing else holds. Its ceiling is what bounds the
                              * rate, a median as well, by bench_roof; NaN: none */
    double flops_per_byte;   /* NaN where flops or bytes are not counted */
    ladder_verdict verdict;  /* not right, too, where it could not be prepared */
    timer_percentiles time_s; /* of one repetition; NaN where it was not timed: wrong, or samples=none */
    int repeats;              /* repetitions in a sample */
    double spread;            /* of the samples: (90th percentile - minimum) / median; NaN where not timed */
    double rate;              /* work per second, from the median; NaN where not timed */
    timer_straggler slowest;  /* of ranks that climbed together */
} bench_point;

enum { BENCH_CEILINGS_MAX = 16 };

typedef struct bench {
    const bench_request *ask;
    device *d;
    device_stream *stream;
    device_event *from, *to;
    bench_point ceiling[BENCH_CEILINGS_MAX]; /* measured so far */
    int ceilings;
    const bench_world *world;
    MPI_Comm meet; /* whose ranks begin to take samples together, each of its own device; MPI_COMM_NULL:
                    * this one alone */
    bool trusted;  /* the rung gave the right bits before, in this process: it is timed at once */
    double own_s;  /* of the last sample, this rank's; samples are the slowest rank's */
} bench;

void bench_create(bench *b, const bench_request *ask, device *d, const bench_world *world);
void bench_destroy(bench *b);

/* Point number index of the rung. Collective for a family that all ranks climb together, and then the same on
 * all ranks. False, with one sentence in why, where the rung could not be prepared (memory). Other failures
 * end the program. */
bool bench_measure(bench *b, const bench_item *item, int index, bench_point *p, sentence *why);

/* The rung of that name of family `ceiling`, measured at the first call, by the same statistic as the rungs
 * beside it: the median. NaN for NULL, and where it could not be measured. */
double bench_ceiling_rate(bench *b, const char *name);

/* Sets the ceiling of point number index: what the rung beside it reaches, which is measured now; else the
 * rung's own, or fma where the point's flops a byte make that the lower one (the roofline). Collective, as
 * bench_measure. */
void bench_roof(bench *b, const bench_item *item, int index, bench_point *p);

/* ---- bench_report.c ---- */

/* Each row is printed as soon as it is measured, in a table per family. */
typedef struct bench_table {
    const ladder_family *family; /* whose heading was printed last; NULL: none */
    int shown, noisy, skipped;   /* rows, noisy ones, rungs that cannot run here */
} bench_table;

void bench_report_head(const bench *b);
void bench_report_row(bench_table *t, const bench_item *item, const bench_point *p);
/* had: points of the rung that could run. Without any it is counted, or, where it was asked for by name, a
 * sentence on stderr tells why; otherwise the sentence is about this point. */
void bench_report_skipped(bench_table *t, const bench_item *item, int had, const char *why);
/* The ceilings behind the fractions, how quiet the machine was, and how many rungs are missing. */
void bench_report_foot(const bench_table *t, const bench *b);

/* Adds a rung's keys to its record (docs/contract.md, "Bench record"): the figures of its last point, and
 * with a scan all points. */
void bench_report_record(json_t *o, const bench *b, const bench_item *item, const bench_point *point,
                         int points);

/* --list: families, parameters and rungs that were asked for, and which of them cannot run here on `ranks`
 * ranks. Needs no GPU and no MPI. */
void bench_report_list(const bench_request *ask, int ranks);
