/* The measurements of `weft check`, gathered on rank 0, and the plain verdict on them: which figures are slow
 * or wrong, and the part of the machine that is low by the most errors in all rows together. Pure functions.
 *
 * A component is what may be to blame: a GPU (or, on the host device, a rank's share of its host), the link
 * of two ranks, a host, the link of two hosts, the disk, or the job as a whole. A figure is one rate of one
 * component in one round. Nothing wrong is timed: a figure of wrong bits has no rate.
 *
 * A row holds the figures of one like, and docs/check.md says what is low in it. An error is the noise of the
 * rounds or the spread of the peers; squares of all rows in which a part is low add up. It is slow by more
 * errors than chance allows in one of a hundred checks. Hosts are compared first, then ranks, then pairs: a
 * part that is slow in all that it takes part in is found before what it makes slow. On a host whose rounds
 * scatter by factors no error is large: there counts what a rank usually reaches.
 *
 * Disadvantage: one part is named, the lowest, also of several that are slow: jobs/judge finds all of them in
 * the same record. Cost: sorting the figures, about 1 ms for 8 ranks, 0.2 s for 1024. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "core/sentence.h"
#include "device/device.h"
#include "transports/transport.h"

typedef enum check_part {
    CHECK_GPU,
    CHECK_LINK,
    CHECK_HOST,
    CHECK_HOST_LINK,
    CHECK_DISK,
    CHECK_JOB
} check_part;
extern const char *const check_part_keys[];

/* The kinds of figures; those of one like are compared with each other. A rate of a pair is that of one way,
 * of two hosts one way of one rank, of rings and all-to-alls that out of a rank; of the rest of a GPU, or of
 * all ranks together. A copy counts its bytes twice. */
typedef enum check_like {
    CHECK_PATTERNS,
    CHECK_COPY,
    CHECK_READ,
    CHECK_FMA_F32,
    CHECK_FMA_F64,
    CHECK_HEAT_SINGLE, /* single steps */
    CHECK_HEAT_BLOCKS, /* temporal blocks */
    CHECK_TRANSPOSE,
    CHECK_TO_HOST,
    CHECK_FROM_HOST,
    CHECK_PAIR_ONEWAY, /* from rank a to rank b of a host */
    CHECK_PAIR_BOTH,   /* both ways at once; a < b */
    CHECK_HOST_PAIR,   /* all ranks of two hosts at once, both ways; a < b are each host's first rank */
    CHECK_RING,        /* + transport_kind */
    CHECK_ALLTOALL = CHECK_RING + TRANSPORT_KINDS,     /* + transport_kind */
    CHECK_HEAT_ALL = CHECK_ALLTOALL + TRANSPORT_KINDS, /* a run of the program */
    CHECK_TRANSPOSE_ALL,
    CHECK_DISK_WRITE,
    CHECK_CHECKPOINT,
    CHECK_LIKES
} check_like;

enum { CHECK_BLOCK_STEPS = 8 };
typedef struct check_like_row {
    const char *key, *name; /* "ring_peer" in records and references; "ring over peer" for people */
    check_part part;
    const char *unit; /* of the rate: "B/s", "flop/s" or "cells/s" */
    const char *rung; /* of `weft bench`; NULL: patterns, and runs of the program */
    dtype type;       /* f32 where it is not said */
    int steps;        /* over a plane: its cells count so often; 0: the rung's own rate */
} check_like_row;
extern const check_like_row check_likes[CHECK_LIKES];

typedef struct check_figure {
    check_like like;
    int a, b;     /* ranks: b = -1 but of a link; a = -1 of the job and the disk */
    bool alone;   /* the ranks of a host took turns */
    int round;    /* from 0 */
    double rate;  /* the median of its repeats, of a pair and on a host the fastest one; NaN: wrong bits */
    double noise; /* of that: how far repeats lie apart, as a fraction, / sqrt(repeats) */
    char *where;  /* of wrong bits: "word 123 of 4 GiB: wrote 0x..., read 0x..."; else NULL; owned */
} check_figure;

typedef struct check_findings {
    device_kind device;
    const char *device_name; /* of rank 0, as the vendor names it; not owned */
    int ranks, hosts;
    int *first_of_host;   /* [ranks]: the lowest rank of the same host; owned, as the next two */
    json_t *rank;         /* check.ranks of the record: of each rank its host and the device that it drives */
    check_figure *figure;
    int figures, wrong;   /* wrong: how many of them have no rate */
    int rounds;           /* that were finished */
    sentence why;         /* it is incomplete; "": it is not */
    sentence not_tried;   /* "ring over nccl: no GPU; pairs: one rank": what was left out and why */
} check_findings;

void check_findings_destroy(check_findings *f);
/* where: copied where the figure has no rate. */
void check_findings_add(check_findings *f, check_figure figure, const char *where);
/* ---- the verdict ---- */

/* Rates that machines of this kind were measured to deliver: a file of jobs/check_reference, {"gpu": "NVIDIA
 * H200", "ranks": 1, "hosts": 1, "rates": {"copy": {"low": 4.1e12, "high": 4.2e12, "machines": 3}, ...}} by
 * the keys of check_likes. */
typedef struct check_reference {
    char gpu[256];
    char name[256];   /* of its file; "": there is none */
    int ranks, hosts; /* that measured it: rates of the job and the disk count for as many alone */
    double low[CHECK_LIKES], high[CHECK_LIKES];
    int machines[CHECK_LIKES]; /* 0: no rate */
} check_reference;
/* On rank 0. False with one sentence in why: it cannot be read, or is no reference. */
bool check_reference_read(const char *path, check_reference *out, sentence *why);

/* In the order of their weight. */
typedef enum check_word {
    CHECK_DELIVERS,
    CHECK_NOT_JUDGED, /* no peers and no reference, or more noise than what is looked for */
    CHECK_SLOW,
    CHECK_WRONG,
    CHECK_INCOMPLETE
} check_word;
extern const char *const check_word_name[];
extern const int check_exit_status[];

typedef struct check_row {
    check_like like;
    int count, rounds;    /* components; to the last round that has a figure */
    double median;        /* over components, of each one's best round; NaN: wrong bits came instead */
    double most, least;   /* and the most and the least of these, */
    int least_a, least_b; /* whose the least is */
    double spread;        /* how far a best round next to its peers scatters: of a logarithm */
    double noise;         /* and as little as is known of it, as a fraction; */
    double error;         /* of a best round next to its peers, as a logarithm */
    double smallest;      /* the smallest deviation of one component that would be found; 1: none */
    double reference;     /* the middle of what machines deliver; NaN: none */
    bool is_judged;       /* by the reference, which repeats from machine to machine; of two rounds or more */
    check_word verdict;
} check_row;

typedef struct check_suspect {
    check_part part;
    int a, b;          /* a rank of it; of a link both; -1: all */
    double factor;     /* of what its peers deliver, in the figure that shows it by most errors: 0.8; NaN:
                        * wrong bits */
    double confidence; /* 1; a third where it may as well be another part */
    int rows;          /* that tell of it */
    sentence name;     /* "GPU of rank 3 (node7, GPU-0b5b4cd2, 0000:00:06.0)" */
    sentence evidence; /* one line: in which figures, and how far below their peers */
} check_suspect;

typedef struct check_verdict {
    check_word word;
    check_row row[CHECK_LIKES]; /* by like; without components and wrong bits it was not measured */
    check_suspect suspect;      /* its name is "": there is none */
} check_verdict;

static inline bool check_row_is_there(const check_row *r)
{
    return r->count > 0 || r->verdict == CHECK_WRONG;
}

/* r: a name of "" is none; it must be of the same GPU. */
void check_judge(const check_findings *f, const check_reference *r, check_verdict *v);

/* ---- findings.c, for verdict.c ---- */

enum { CHECK_ROUNDS_LEAST = 2 }; /* of fewer nothing is blamed */
extern const double check_least; /* -log(1 - 0.03): no smaller difference counts */
/* a < 0: all parts of a kind. False: another part is the suspect already. */
bool check_suspect_is(check_verdict *v, const check_findings *f, check_part part, int a, int b);
/* "memory copy 81 %; memory read 82 %". */
void check_add_evidence(check_verdict *v, check_like like, double factor);
/* errors: how many standard deviations are not chance. */
void check_judge_by_reference(const check_findings *f, const check_reference *r, double errors,
                              check_verdict *v);

/* The terminal's page: verdict, table of figures, suspects, what was not tried. */
void check_page_print(FILE *to, const check_findings *f, const check_verdict *v, const check_reference *r);
