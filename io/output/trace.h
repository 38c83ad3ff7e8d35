/* A timeline in Chrome's trace format: a JSON object that ui.perfetto.dev and chrome://tracing open. One
 * process per rank (pid = rank), one thread a track (tid = its number), complete events in microseconds, all
 * on one clock: rank 0's, with the earliest span at 0. otherData holds, for each rank, how well its clock is
 * known.
 *
 * Clocks of hosts differ by what they were started apart, which is measured once, at the end, and drift by
 * some 1e-5 of the time shown, which is left. */
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/sentence.h"

/* The host, the stream of the exchange, and from there on those of the interior, one per lane. */
typedef enum trace_track { TRACE_HOST, TRACE_COMM, TRACE_LANE } trace_track;

typedef struct trace_span {
    double begin_s, end_s; /* timer_now_s of this rank */
    int64_t step;
    int track;
    const char *name; /* words without quotes; not owned */
} trace_span;

typedef struct trace_offset {
    double offset_s; /* rank 0's clock = this rank's + offset; 0 where they may be the same one */
    double error_s;  /* at most */
} trace_offset;

/* Ping exchange of every rank with rank 0, one rank after another; of many rounds the shortest counts.
 * Collective. */
trace_offset trace_measure_offset(MPI_Comm comm);

typedef struct trace_timeline { /* of this rank; nothing is owned */
    const char *process;        /* what stands at its left edge */
    int lanes;
    const trace_span *span; /* spans of one track do not overlap */
    int spans;
    trace_offset clock;
    double device_error_s; /* of the spans' device clock against this rank's, at most */
} trace_timeline;

/* Rank 0 collects one rank after another and writes path whole or not at all (replace.h). Collective; false
 * on all ranks with one sentence in why. A rank without spans is allowed. */
bool trace_write(MPI_Comm comm, const char *path, const trace_timeline *t, sentence *why);
