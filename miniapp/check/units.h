/* The figures of a like by units, so that each stands next to those of its peers.
 *
 * A unit is a host, a rank or a component by itself. A pair of ranks counts for both of its ranks, and for
 * both of its hosts. Of several figures that a unit has in a round the best one counts, since load of others
 * only ever makes a part slower; for the same reason the best of its rounds tells what a unit can do.
 * Logarithms are compared: a factor is a difference. Cost: that of sorting the figures. */
#pragma once

#include "check/findings.h"

typedef enum unit_kind { UNIT_HOST, UNIT_RANK, UNIT_COMPONENT, UNIT_KINDS } unit_kind;

typedef struct unit {
    int a, b;      /* a rank of the unit; of a pair both, else b = -1 */
    double best;   /* the logarithm of its rate in its best round */
    double effect; /* the same next to the median of the others' */
    double often;  /* the effect that nine of ten rounds are below */
    double never;  /* the logarithm of the probability that chance keeps it below its best in all rounds */
} unit;

typedef struct units {
    int count, rounds; /* rounds: to the last one that has a figure */
    unit *unit;        /* [count] */
    double *x;         /* [count][rounds + 1] logarithms of rates, the last one the best; NaN: none */
    double median;     /* of the best rounds */
    double spread;     /* of a best round, by how rates differ from round to round */
    double noise;      /* the same, of rates next to the others */
    double scatter;    /* of units, by their best rounds */
} units;

/* The figures of that like, but those that are explained: [figures], or NULL. */
units units_create(const check_findings *f, check_like like, unit_kind kind, const bool *explained);
void units_destroy(units *u);
/* The place of the slowest unit; -1: there is none. */
int units_least(const units *u);
/* Figures in which unit (a, b) takes part are explained from now on. */
void units_explain(const check_findings *f, unit_kind kind, int a, int b, bool *explained);
