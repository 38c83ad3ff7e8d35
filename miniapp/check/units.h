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
    int a, b;            /* a rank of the unit; of a pair both, else b = -1 */
    double *x;           /* [rounds + 1] logarithms of rates, the last one the best; NaN: none */
    double *beside;      /* [rounds + 1] the same next to the median of the others */
    double best, effect; /* the last ones of these */
} unit;

typedef struct units {
    int count, rounds; /* rounds: to the last one that has a figure */
    unit *unit;        /* [count] */
    double *x;         /* of all units, owned */
    double median;     /* of the best rounds */
    double spread;     /* the standard deviation of a best round next to its peers, */
    double noise;      /* and as little as is known of it */
    double error;      /* of an effect */
} units;

/* The figures of that like, but those that are explained: [figures], or NULL. */
units units_create(const check_findings *f, check_like like, unit_kind kind, const bool *explained);
void units_destroy(units *u);
/* The slowest unit; NULL: there is none. */
const unit *units_least(const units *u);
/* In nine rounds of ten the unit is below that effect. */
bool units_often_below(const units *u, const unit *one, double effect);
/* The logarithm of the probability that chance keeps the unit below its best in all rounds. */
double units_never_higher(const units *u, const unit *one);
/* Figures in which unit (a, b) takes part are explained from now on. */
void units_explain(const check_findings *f, unit_kind kind, int a, int b, bool *explained);
