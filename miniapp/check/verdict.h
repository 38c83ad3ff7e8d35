/* The plain verdict of a check: which figures are slow or wrong, and the part of the machine that is lowest
 * in most of the slow rows. Pure functions of findings and references. jobs/judge does the statistics of
 * records.
 *
 * A row holds the figures of one like, alone or at once. A component's figure is its best round, since load
 * of others only ever makes it slower. It is slow where it lies below the median of its peers by more than
 * 3 % and more than the noise of the rounds and the spread of the peers allow; or where its best is less than
 * half of theirs, and chance keeps it there in all rounds of all rows in less than one of a thousand checks.
 * Rows of a rank, each of which drowns in noise, add up. Hosts are compared first, each by its best rank,
 * then ranks, each by its best pair, then pairs: a part that is slow in all that it takes part in is found
 * before what it makes slow. The part named is left out, and the comparison begins anew.
 *
 * Disadvantage: of two parts that explain the same figures one is named: jobs/judge tells more of the same
 * record. Cost: sorting the figures, about 1 ms for 8 ranks, 0.7 s for 1024. */
#pragma once

#include "check/findings.h"
#include "check/reference.h"

/* In the order of their weight. Exit status: 0, 4, 1, 1, 3. */
typedef enum check_word {
    CHECK_DELIVERS,
    CHECK_NOT_JUDGED, /* no peers and no reference, or more noise than what is looked for */
    CHECK_SLOW,
    CHECK_WRONG,
    CHECK_INCOMPLETE
} check_word;
const char *check_word_name(check_word w);

typedef struct check_row {
    check_like like;
    bool alone;
    int count;            /* components */
    double median;        /* over components, of each one's best round; NaN: wrong bits came instead */
    double least;         /* and the least of these, */
    int least_a, least_b; /* whose */
    double noise;         /* of a best round next to its peers, as a fraction */
    double smallest;      /* the smallest deviation of one component that would be found; 1: none */
    double reference;     /* the middle of what machines deliver; NaN: none */
    bool is_judged;       /* by the reference, which repeats from machine to machine; of two rounds or more */
    check_word verdict;
} check_row;

typedef struct check_suspect {
    check_part part;
    int a, b;          /* a rank of it; of a link both; -1: all */
    double factor;     /* of what its peers deliver: 0.8; NaN: wrong bits */
    double confidence; /* the share of slow rows in which it is the lowest */
    int rows;          /* that tell of it; of wrong bits faults */
    sentence name;     /* "GPU of rank 3 (node7, GPU-0b5b4cd2, 0000:00:06.0)" */
    sentence evidence; /* one line: in which figures, and how far below their peers */
} check_suspect;

typedef struct check_verdict {
    check_word word;
    check_row row[2 * CHECK_LIKES];
    int rows;
    check_suspect *suspect; /* wrong bits first, then in the order in which they were found; owned */
    int suspects;
} check_verdict;

/* reference: NULL, or of the same GPU. */
void check_judge(const check_findings *f, const check_reference *reference, check_verdict *v);
void check_verdict_destroy(check_verdict *v);
int check_exit_status(check_word w);
