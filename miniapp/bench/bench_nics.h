/* What the NICs of every host send while ranks exchange: several hosts may be joined by several NICs each, of
 * which a setting or a missing one may leave all but one idle. */
#pragma once

#include "topology/nics.h"
#include "topology/topology.h"

typedef struct bench_nics {
    const topology *top;
    bool counted;
    nics before, sent; /* on the first rank of each host */
} bench_nics;

/* Between these two what is sent counts. */
void bench_nics_begin(bench_nics *n);
void bench_nics_end(bench_nics *n);
/* Prints a line per host, unless quiet, and a note on stderr where NICs with equal links stayed idle; nothing
 * on one host, or where nothing was counted. Collective. */
void bench_nics_report(const bench_nics *n, bool quiet);
