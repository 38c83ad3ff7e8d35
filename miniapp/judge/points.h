/* Figures of a check made comparable: of each component its best round, since load of others disturbs one way
 * only, as a logarithm, in which factors are differences, and how far two equal components may lie apart by
 * chance. Load comes and goes for all components of a like alike; so what a component's figure scatters by,
 * and whether it is slow, is told by its place beside the others in each round. Where load is so heavy that
 * most rounds tell little of a rate, the order of the components in each round still tells who is always
 * last. */
#pragma once

#include "judge/findings.h"

/* No smaller difference counts; no machine repeats itself better. */
#define CHECK_LEAST_DIFFERENCE 0.03
#define CHECK_NOISE_LEAST 0.005
/* From as many rounds on their order in each round shows who is slow, even where most rounds are disturbed.
 * */
enum { CHECK_ROUNDS_ENOUGH = 7 };

typedef struct check_point { /* a component in a row */
    int row;
    int a, b;      /* as in check_figure */
    double x;      /* log of the rate of its best round */
    double beside; /* log of its rate by the median of the others' in the same round: nine of ten rounds
                    * have no more */
    double places; /* the sum of its places in the order of each round's rates, in standard deviations of
                    * what chance would give */
} check_point;

typedef struct check_point_row { /* a like, alone or not */
    check_like like;
    bool alone;
    int first, count; /* its points stand together */
    int rounds;       /* that each of them has at least */
    double noise;     /* of a point beside the others, larger where it is not known well */
    double spread;    /* of a point by itself, which is compared with a reference */
} check_point_row;

typedef struct check_points {
    check_point *point; /* owned */
    int points;
    check_point_row row[2 * CHECK_LIKES];
    int rows;
} check_points;

void check_points_create(check_points *p, const check_findings *f);
void check_points_destroy(check_points *p);

/* Of n >= 1 numbers, which it sorts. */
double check_median(double *x, int n);
/* Their standard deviation by the median of distances from the median, made larger by check_few, since it is
 * known badly. n >= 2. */
double check_scatter(double *x, int n);
/* By how much a quantile far out in Student's distribution exceeds the normal one, roughly: at 1e-5 3.6 for n
 * = 4, 1.9 for 8. */
double check_few(int n);
