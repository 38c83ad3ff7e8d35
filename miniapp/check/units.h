/* The figures of a row by units, so that each stands next to those of its peers.
 *
 * A unit is a host, a rank (ranks that share a GPU are one) or a component by itself. A pair of ranks counts
 * for both of its ranks, and for both of its hosts. Of several figures that a unit has in a round the best
 * one counts, since load of others only ever makes a part slower; for the same reason the best of its rounds
 * tells what a unit can do. Logarithms are compared: a factor is a difference. */
#pragma once

#include "check/findings.h"

typedef enum unit_kind { UNIT_HOST, UNIT_RANK, UNIT_COMPONENT, UNIT_KINDS } unit_kind;

typedef struct units {
    int count, rounds; /* rounds: from the first to the last one that has a figure */
    int *a, *b;        /* [count] a rank of the unit; of a pair both, else b = -1; owned, as is x */
    double *x;         /* [count][rounds + 1] logarithms of rates, the last one that of the best round; NaN:
                        * none */
    double *beside;    /* [count][rounds + 1] the same next to the median of the others of that round */
    double *never;     /* [count] logarithm of the probability that chance keeps a unit below its best in all
                        * rounds */
    double *often;     /* [count] the effect that nine of ten rounds of a unit are below */
    double spread;     /* of the best round, by how rates differ from round to round */
    double noise;      /* the same, of rates next to the others */
    double scatter;    /* of units, by their best rounds */
} units;

/* The figures of that like, but those that are explained: [figures], or NULL. Cost: that of sorting them. */
units units_create(const check_findings *f, check_like like, bool alone, unit_kind kind,
                   const bool *explained);
void units_destroy(units *u);
static inline double units_best(const units *u, int i) { return u->x[i * (u->rounds + 1) + u->rounds]; }
static inline double units_effect(const units *u, int i)
{
    return u->beside[i * (u->rounds + 1) + u->rounds];
}
/* The place of the slowest unit, -1: there is none; the median of the best rounds. */
int units_least(const units *u);
double units_median(const units *u);

/* Figures in which unit (a, b) takes part are explained from now on. */
void units_explain(const check_findings *f, unit_kind kind, int a, int b, bool *explained);
