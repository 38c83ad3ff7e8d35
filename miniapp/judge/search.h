/* The search for who is slow: which candidates take part in which figures, and how far each lies below the
 * others (blame.h). */
#pragma once

#include "judge/blame.h"

/* A candidate's part in a point. */
typedef struct touch {
    check_candidate who;
    check_role role;
    int point;
} touch;

typedef struct reach { /* a facet, with the touches that it is made of */
    check_facet facet;
    check_part part;
    const touch *first;            /* facet.figures of them */
    const touch *in_row;           /* all of the candidate in the row */
    int in_row_count;
    double error;                  /* by noise and scatter within; 0: nothing to compare with */
    bool ordered;                  /* rounds and figures are enough for their order to tell */
    double places;                 /* as in check_point */
    double out;                    /* effect in standard deviations of its kind */
    bool steady;                   /* behind the others in nine of ten rounds */
    bool lone;                     /* figures of one smaller part: what is slow there may as well be that
                                    * part */
} reach;

typedef struct candidate {
    check_candidate who;
    int first, count; /* reaches */
    bool blamed_by_all; /* its facets count together */
    double explains, errors;
} candidate;

typedef struct search {
    check_points *p;
    const check_findings *f;
    int *host_rank; /* the first rank of each host */
    int *gpu_rank;  /* [rank] the first that drives the same GPU */
    touch *touch;
    int touches;
    reach *reach;
    int reaches;
    candidate *candidate;
    int candidates;
    int *order, *place; /* points of each row by ascending x; where a point stands in its row's order */
    double *scratch;
    bool *taken;        /* points that this pass has explained */
    double errors_least, order_least; /* beyond which errors count, and places of all facets of a candidate
                                       * together */
    double *row_noise;
} search;

/* b: gets the bounds; p and f outlive the search. */
void search_begin(search *s, check_points *p, const check_findings *f, check_blames *b);
void search_end(search *s);
/* Sets facet.effect and facet.errors of all reaches, and the rows' noise, by the points as they are. */
void search_measure(search *s);
