/* Figures of a check made comparable: of each component its best round, since load of others disturbs one way only, as a logarithm, in
 * which factors are differences, and how far two equal components may lie apart by chance. */
#pragma once

#include "judge/findings.h"

typedef struct check_point { /* a component in a row */
    int row;
    int a, b;     /* as in check_figure */
    double x;     /* log of the rate of its best round */
    double noise; /* of x; it is large where the two best rounds differ: the best may be disturbed too */
} check_point;

typedef struct check_point_row { /* a like, alone or not */
    check_like like;
    bool alone;
    int first, count; /* its points stand together */
    double noise;     /* of a point, by rounds of all of them, by repeats too where those are few; larger where it is not known well */
    double spread;    /* the same without that */
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
