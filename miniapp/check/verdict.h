/* The plain verdict of a check: which figures are slow or wrong, and the part of the machine that is lowest
 * in most of the slow rows. Pure functions of findings and references. jobs/judge does the statistics of
 * records.
 *
 * A row holds the figures of one like, alone or at once. A component's figure is its best round, since load
 * of others only ever makes it slower. It is slow where it lies below the median of its peers by more than 3
 * %, by more than the noise of the rounds and the spread of the peers allow, and in nine rounds of ten by a
 * third of that; or where its best is less than half of theirs, and chance keeps it there in all rounds of
 * all rows in less than one of a thousand checks. Rows of a rank, each of which drowns in noise, add up.
 * Hosts are compared first, each by its best rank, then ranks, each by its best pair, then pairs: a part
 * that is slow in all that it takes part in is found before what it makes slow. The part named is left out,
 * and the comparison begins anew.
 *
 * Disadvantage: of two parts that explain the same figures one is named: jobs/judge tells more of the same
 * record. Cost: sorting the figures, about 1 ms for 8 ranks, 0.7 s for 1024. */
#pragma once

#include <stdio.h>

#include "check/findings.h"

/* ---- reference.c ---- */

/* Rates that machines of this kind were measured to deliver: a JSON file {"gpu": "NVIDIA H200", "made": "of
 * which checks", "ranks": 1, "hosts": 1, "rates": {"copy": {"low": 4.1e12, "high": 4.2e12, "machines": 3},
 * ...}} by the keys of check_likes, which jobs/check_reference makes of records. A rate that is a number
 * alone is one machine's. Built-in ones stand beside the program: inputs/reference of the tree in which it
 * was built, share/weft/reference where it was installed. All functions are rank 0's. */
typedef struct check_reference {
    char gpu[256];    /* findings' device_name must be the same */
    char name[256];   /* of its file, without folders */
    int ranks, hosts; /* that measured it: rates of the job and the disk count for as many alone. 0: not
                       * given */
    double low[CHECK_LIKES], high[CHECK_LIKES]; /* per second, of all machines; NaN: none */
    int machines[CHECK_LIKES];                  /* that measured it */
} check_reference;

/* asked: a file, "none", or NULL for the built-in one of this GPU. Reads of the findings only what runs and
 * where, so that it may be asked before anything is measured. True: out is it, or has name "" where there is
 * none to be used; note is then why, for people, else "". False: the file asked for cannot be read, or is no
 * reference; note is the sentence. */
bool check_reference_find(const check_findings *f, const char *asked, check_reference *out, sentence *note);

/* Does the rate repeat? Two machines have it at least, and they differ by at most CHECK_LEAST_DIFFERENCE.
 * Others are shown and not judged. */
bool check_reference_repeats(const check_reference *r, check_like l);

/* ---- verdict.c ---- */

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

/* ---- page.c: the terminal's page: verdict, table of figures, suspects, what was not tried ---- */

enum { CHECK_PAGE_LINES = 40 }; /* at most, whatever the number of ranks; of at most TERMINAL_COLUMNS */

/* reference: NULL, or the one the verdict was made with. */
void check_page_print(FILE *to, const check_findings *f, const check_verdict *v,
                      const check_reference *reference);
