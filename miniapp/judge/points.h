/* Figures of a check made comparable: of each component its best round, since load of others disturbs one way only, as a logarithm, in
 * which factors are differences, and how far two equal components may lie apart by chance. Load comes and goes for all components of a
 * like alike; so what a component's figure scatters by, and whether it is slow, is told by its place beside the others in each round. */
#pragma once

#include "judge/findings.h"

/* No smaller difference counts; no machine repeats itself better. */
#define CHECK_LEAST_DIFFERENCE 0.03
#define CHECK_NOISE_LEAST 0.005
/* From as many rounds on the best ones of components show how far they scatter, even where most rounds are disturbed. */
enum { CHECK_ROUNDS_ENOUGH = 5 };

typedef struct check_point { /* a component in a row */
    int row;
    int a, b;      /* as in check_figure */
    double x;      /* log of the rate of its best round */
    double beside; /* log of its rate by the median of the others' in the same round: nine of ten rounds have no more */
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
/* Their standard deviation by the median of distances from the median, made larger where they are few and it is known badly. n >= 2. */
double check_scatter(double *x, int n);
