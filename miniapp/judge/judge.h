/* From figures to a verdict: what is slow or wrong, and which component is to blame. Pure functions of
 * findings and references. */
#pragma once

#include "judge/findings.h"
#include "judge/reference.h"

/* In the order of their weight. Exit status: 0, 1, 1, 3. */
typedef enum check_word { CHECK_DELIVERS, CHECK_SLOW, CHECK_WRONG, CHECK_INCOMPLETE } check_word;
const char *check_word_name(check_word w);

/* A like, over all components and rounds, together or alone. */
typedef struct check_row {
    check_like like;
    bool alone;
    int count;          /* components */
    double median;      /* over components, of each one's best round */
    double least;       /* and the least of these, */
    int least_a, least_b; /* whose */
    double noise;       /* below which no difference counts, as a fraction of the median */
    double reference;   /* the middle of what machines deliver; NaN: none */
    bool is_judged;     /* by the reference, which repeats from machine to machine; of two rounds or more */
    check_word verdict;
} check_row;

typedef struct check_suspect {
    check_part part;
    int a, b;          /* a rank of it; of a link both */
    double factor;     /* of what its like deliver: 0.8; NaN: wrong bits */
    double confidence; /* 0 .. 1 */
    sentence name;     /* "GPU of rank 3 (node7, GPU-0b5b4cd2, 0000:00:06.0)", "link of ranks 2 and 3
                        * (node7)" */
    sentence evidence; /* one line: in which figures it appears, and how far below their like */
} check_suspect;

typedef struct check_verdict {
    check_word word;
    check_row row[2 * CHECK_LIKES];
    int rows;
    check_suspect *suspect; /* the most certain first; owned */
    int suspects;
} check_verdict;

/* reference: NULL, or of the same GPU. */
void check_judge(const check_findings *f, const check_reference *reference, check_verdict *v);
void check_verdict_destroy(check_verdict *v);
int check_exit_status(check_word w);
