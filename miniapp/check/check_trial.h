/* A trial: all ranks, or some while the others sleep, measure something; then each reports to rank 0, so that
 * a death in a later one loses little.
 *
 *   check_trial_begin(c, "memory copy, alone");
 *   if (this rank takes part) { measure; check_trial_figure(...) or check_trial_fault(...) }
 *   if (!check_trial_end(c)) the check is to stop */
#pragma once

#include "bench/bench_measure.h"
#include "check/check_request.h"
#include "check/check_time.h"
#include "check/findings.h"
#include "topology/topology.h"

/* How much of each: the same in all rounds, since rates of one like are compared. */
typedef struct check_sizes {
    int64_t ceiling_bytes, edge_cells; /* of what one rank copies; of the planes that it sweeps, which no
                                        * cache holds */
    int64_t cached_edge_cells;         /* of planes of which the last cache holds two */
    int64_t link_bytes, ring_bytes;    /* of a message */
    int64_t pattern_bytes;             /* of memory that is filled with patterns; 0: what is free */
    int64_t matrix_cells, disk_bytes;  /* an edge of the matrix of the all-to-all; what all ranks write */
    int runs;                          /* of the program, that are compared with a known fingerprint: the
                                        * table's first ones */
} check_sizes;

enum { CHECK_SHARE_FIGURES = 4 };
typedef struct check_share { /* what a rank reports of a trial; without a fault the last member is not sent */
    int figures, faults;
    bool has_health;
    bool asked; /* a signal asked that rank for an end */
    double clock_mhz, power_w, temperature_c;
    bool held_by_power, held_by_heat;
    check_figure figure[CHECK_SHARE_FIGURES];
    check_fault fault;
} check_share;

enum { CHECK_PARTS_OF_A_ROUND = 7 };
typedef struct check {
    const check_request *ask;
    topology *top;    /* not owned, as is */
    device *d;
    int number, ranks_here; /* this rank's on its host, as top->where has it, and how many are there */
    bool sharing; /* some ranks take turns on a GPU */
    bool crowded; /* some host has more ranks than cores: pairs that meet at once would take each other's */
    MPI_Comm reports; /* of all ranks; owned */
    check_sizes sizes;
    bench_world world;
    bench_request rungs; /* what bench is told */
    bench bench;
    check_findings found; /* on rank 0 all; on the others empty */
    check_share mine;     /* of the trial under way */
    check_share theirs;   /* that of another, as it comes to rank 0 */
    int round;
    char trial[96];       /* under way */
    bool asked;           /* on rank 0: some rank was asked for an end */
    double begin_s;       /* when the program started */
    check_time time;
    double part_s[CHECK_PARTS_OF_A_ROUND]; /* on rank 0, of the round under way or the last one */
    unsigned own_right;   /* bit i: trial i of this rank's device was verified in a quick check */
    double own_verifying_s; /* of this rank's device, in the round under way or the last one */
} check;

/* what: for people, "memory copy, alone". */
void check_trial_begin(check *c, const char *what);
/* Of this rank. noise: of the median. */
void check_trial_figure(check *c, check_figure f);
/* The figure of a rung that was verified and timed, with this rate; or its fault. */
void check_trial_point(check *c, check_figure f, const bench_point *p);
void check_trial_fault(check *c, check_like like, int a, int b, const char *where);
/* Collective. Returns when all have reported; who waits, sleeps. Sets c->time.now_s. False on all ranks: an
 * end was asked for. */
bool check_trial_end(check *c);
/* Rank 0's number for all, who sleep until it comes. Collective. */
int check_trial_tell(check *c, int number);
/* The most that a host has. */
int check_trial_ranks_of_a_host(const check *c);
/* From the percentiles of repeats: (p90 - min) / p50 / sqrt(repeats). */
double check_trial_noise(const timer_percentiles *t);
