/* Which components are slow: the fewest that explain the most of what lies below its like.
 *
 * A candidate is a GPU, the link of two ranks, a host, or the link of two hosts. A facet is a candidate in a
 * row: the figures that it takes part in (a GPU in all its pairs; those that leave a GPU apart from those
 * that enter it). The effect of a facet is the median of these figures, of two the better one, less the
 * median of the row's figures that the candidate has no part in: logarithms of rates. So a GPU is slow in
 * pairs only where most of its pairs are, a host where most of its GPUs are, and of two components the worse
 * one lies below the better. The effect counts in units of its error: noise of rounds and repeats, scatter
 * within the facet, and scatter of the effects of all candidates of the kind, each by medians. Where load of
 * others leaves of most rounds nothing but noise, the order of the figures in each round still tells: how far
 * the places of all facets of a candidate lie below those that chance gives (rank sums, as Friedman's test
 * has them), if by their best rounds most of these stand out from their kind. A candidate may be blamed if
 * one facet, or all together, lie so far out that of a thousand healthy machines about ten have one; never
 * for less than 3 %; and never for a facet that was slow in some rounds only. Load of others seldom meets one
 * component in every round, and the others in none. The one that explains most is blamed, its effects are
 * taken off the figures, and the rest is looked at again. */
#pragma once

#include "judge/points.h"

/* of a link, OUT is from the lower rank to the higher one */
typedef enum check_role { CHECK_OWN, CHECK_OUT, CHECK_IN } check_role;

typedef struct check_candidate {
    check_part part; /* CHECK_GPU, CHECK_LINK, CHECK_HOST or CHECK_HOST_LINK */
    int a, b;        /* ranks; of hosts any rank of it; b = -1 but of links */
} check_candidate;

typedef struct check_facet {
    int row;
    check_role role;
    int figures;    /* components that it takes part in */
    double is, of;  /* per second: what it delivers, and what the others do */
    double effect;  /* log of is / of */
    double errors;  /* effect in units of its error: below 0 it is slow */
    bool slow;      /* by itself, or as all facets together */
} check_facet;

enum { CHECK_OTHERS = 2 };
typedef struct check_blame {
    check_candidate who;
    check_facet *facet; /* owned; the furthest out first */
    int facets;
    double confidence;
    check_candidate other[CHECK_OTHERS]; /* that explain the same figures as well; each lowers the
                                          * confidence */
    int others;                          /* may be more than are named */
} check_blame;

typedef struct check_blames {
    check_blame *blame; /* owned, in the order in which they were found */
    int blames;
    double errors_least;                /* beyond which an effect counts */
    double row_noise[2 * CHECK_LIKES];  /* by row: below its like by less, as a fraction, no component is
                                         * slow */
} check_blames;

/* Takes the effects of those it blames off p's points: what remains is what the others deliver. */
void check_blames_create(check_blames *b, check_points *p, const check_findings *f);
void check_blames_destroy(check_blames *b);
