/* The measurements of `weft check` and the errors that it finds, gathered on rank 0.
 *
 * A component is what may be to blame: a GPU (or, on the host device, a rank's share of its host), the link
 * of two ranks, a host, the link of two hosts, the disk, or the job as a whole. A figure is one rate of one
 * component in one round. Nothing wrong is timed: what gave wrong bits is a fault, and has no figure. */
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

/* The kinds of figures; those of one like are compared with each other. */
typedef enum check_like {
    CHECK_COPY,     /* device memory to device memory, each byte counted twice */
    CHECK_READ,     /* device memory */
    CHECK_PATTERNS, /* patterns over all free memory, written and read */
    CHECK_FMA_F32,
    CHECK_FMA_F64,
    CHECK_TO_HOST,
    CHECK_FROM_HOST,
    CHECK_HEAT_SINGLE, /* single steps */
    CHECK_HEAT_BLOCKS, /* temporal blocks */
    CHECK_TRANSPOSE,
    CHECK_HEAT_SINGLE_CACHED, /* the same on planes that stay in the last cache */
    CHECK_HEAT_BLOCKS_CACHED,
    CHECK_TRANSPOSE_CACHED,
    CHECK_PAIR_ONEWAY, /* from rank a to rank b of a host */
    CHECK_PAIR_BOTH,   /* a < b, both ways at once: the rate of one way */
    CHECK_HOST_PAIR,   /* all ranks of two hosts at once, both ways; a < b are each host's first rank: the
                        * rate of one rank, one way */
    CHECK_RING,        /* + transport_kind: all ranks, two neighbours each; the rate out of a rank */
    CHECK_ALLTOALL = CHECK_RING + TRANSPORT_KINDS,     /* + transport_kind: all ranks, slabs; out of a rank */
    CHECK_HEAT_ALL = CHECK_ALLTOALL + TRANSPORT_KINDS, /* all ranks, a run of the program */
    CHECK_TRANSPOSE_ALL,
    CHECK_DISK_WRITE, /* raw, all ranks */
    CHECK_CHECKPOINT, /* all ranks */
    CHECK_LIKES
} check_like;

typedef struct check_like_row {
    const char *key, *name; /* "ring_peer" in records and references; "ring over peer" for people */
    check_part part;
    const char *unit; /* of the rate: "B/s", "flop/s" or "cells/s" */
} check_like_row;
extern const check_like_row check_likes[CHECK_LIKES];

typedef struct check_figure {
    check_like like;
    int a, b;     /* ranks: b = -1 but of a link; a = -1 of the job and the disk */
    bool alone;   /* the ranks of a host took turns */
    int round;    /* from 0 */
    double rate;  /* the median of its repeats */
    double noise; /* of the median: (p90 - min) / p50 / sqrt(repeats) */
} check_figure;

typedef struct check_fault { /* wrong bits */
    check_like like;
    int a, b;
    int round;
    sentence where; /* step, place, pattern: "word 123 of 4 GiB: wrote 0x..., read 0x..." */
} check_fault;

typedef struct check_rank { /* a rank and the device that it drives */
    char host[64];
    int first_of_host;                                            /* the lowest rank of the same host */
    char gpu[64], uuid[DEVICE_UUID_BYTES], pci[DEVICE_PCI_BYTES]; /* "" on the host device */
    double clock_mhz, power_w, temperature_c; /* under arithmetic, last round; NaN unknown */
    bool held_by_power, held_by_heat;         /* the clock was held down */
} check_rank;

typedef struct check_findings {
    device_kind device;
    char device_name[256]; /* of rank 0, as the vendor names it */
    int ranks, hosts;
    check_rank *rank;     /* [ranks] */
    check_figure *figure; /* owned, as are faults */
    int figures;
    check_fault *fault;
    int faults;
    int rounds;         /* that were finished */
    sentence why;       /* it is incomplete; "": it is not */
    sentence not_tried; /* "ring over nccl: no GPU; pairs: one rank": what was left out and why */
} check_findings;

void check_findings_create(check_findings *f, device_kind kind, int ranks);
void check_findings_destroy(check_findings *f);
void check_findings_add(check_findings *f, const check_figure *figure);
void check_findings_add_fault(check_findings *f, const check_fault *fault);
