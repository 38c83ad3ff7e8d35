/* The measurements of `weft check`, gathered on rank 0.
 *
 * A component is what may be to blame: a GPU (or, on the host device, a rank's share of its host), the link
 * of two ranks, a host, the link of two hosts, the disk, or the job as a whole. A figure is one rate of one
 * component in one round. Nothing wrong is timed: a figure of wrong bits has no rate. */
#pragma once

#include <stdbool.h>

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
    const char *rung; /* of `weft bench`; NULL: patterns, runs, and what another row measures */
    dtype type;       /* f32 where it is not said */
    int steps;        /* over a plane: its cells count so often; 0: the rung's own rate */
    bool turns;       /* the ranks of a host one after another: they share the bus to its memory */
} check_like_row;
extern const check_like_row check_likes[CHECK_LIKES];

typedef struct check_figure {
    check_like like;
    int a, b;     /* ranks: b = -1 but of a link; a = -1 of the job and the disk */
    bool alone;   /* the ranks of a host took turns */
    int round;    /* from 0 */
    double rate;  /* the median of its repeats; NaN: wrong bits */
    double noise; /* of the median: (p90 - min) / p50 / sqrt(repeats) */
    char *wrong;  /* NULL, or step, place, pattern: "word 123 of 4 GiB: wrote 0x..., read 0x..."; owned */
} check_figure;

typedef struct check_rank { /* a rank and the device that it drives */
    char host[64];
    int first_of_host;                                            /* the lowest rank of the same host */
    char gpu[64], uuid[DEVICE_UUID_BYTES], pci[DEVICE_PCI_BYTES]; /* "" on the host device */
} check_rank;

typedef struct check_findings {
    device_kind device;
    char device_name[256]; /* of rank 0, as the vendor names it */
    int ranks, hosts;
    check_rank *rank;     /* [ranks] */
    check_figure *figure; /* owned */
    int figures, wrong;   /* wrong: how many of them have no rate */
    int rounds;           /* that were finished */
    sentence why;         /* it is incomplete; "": it is not */
    sentence not_tried;   /* "ring over nccl: no GPU; pairs: one rank": what was left out and why */
} check_findings;

void check_findings_create(check_findings *f, device_kind kind, int ranks);
void check_findings_destroy(check_findings *f);
/* wrong: where the figure has no rate. */
void check_findings_add(check_findings *f, check_figure figure, const char *wrong);
/* "GPU of rank 3 (node7, GPU-0b5b4cd2, 0000:00:06.0)". a: a rank of it, of a link the lower one; -1: all of
 * that kind. */
void check_part_name(sentence *out, const check_findings *f, check_part part, int a, int b);
