/* The measurements of `weft check` and the errors that it finds: figures of components, gathered on rank 0.
 *
 * A component is what may be to blame: a GPU (or, on the host device, a rank's share of its host), the link
 * of two ranks, a host, the link of two hosts, the disk, or the job as a whole. A figure is one measurement
 * of one component: a rate, of which more is better, and how far its repeats scatter. Nothing wrong is timed:
 * what gave wrong bits is a fault, and has no figure. */
#pragma once

#include <stdbool.h>

#include "core/sentence.h"
#include "device/device.h"
#include "transports/transport.h"

/* No smaller difference counts. */
#define CHECK_LEAST_DIFFERENCE 0.03

typedef enum check_part {
    CHECK_GPU,
    CHECK_LINK,
    CHECK_HOST,
    CHECK_HOST_LINK,
    CHECK_DISK,
    CHECK_JOB,
    CHECK_PARTS
} check_part;

/* The kinds of figures; those of one like, alone or not, are compared with each other. */
typedef enum check_like {
    CHECK_COPY,     /* device memory to device memory; bytes/s, each byte counted twice */
    CHECK_READ,     /* device memory; bytes/s */
    CHECK_PATTERNS, /* patterns over all free memory, written and read; bytes/s */
    CHECK_FMA_F32,  /* flop/s */
    CHECK_FMA_F64,
    CHECK_TO_HOST, /* bytes/s */
    CHECK_FROM_HOST,
    CHECK_HEAT_SINGLE,        /* one rank alone, single steps; cells/s */
    CHECK_HEAT_BLOCKS,        /* one rank alone, temporal blocks */
    CHECK_TRANSPOSE,          /* one rank alone */
    CHECK_HEAT_SINGLE_CACHED, /* the same on planes that stay in the last cache */
    CHECK_HEAT_BLOCKS_CACHED,
    CHECK_TRANSPOSE_CACHED,
    CHECK_PAIR_ONEWAY, /* from rank a to rank b of a host; bytes/s */
    CHECK_PAIR_BOTH,   /* a < b, both ways at once; bytes/s of one way */
    CHECK_HOST_PAIR,   /* all ranks of two hosts at once, both ways; a < b are each host's first rank;
                        * bytes/s of one rank, one way */
    CHECK_RING,        /* + transport_kind: all ranks, two neighbours each; bytes/s out of a rank */
    CHECK_ALLTOALL = CHECK_RING + TRANSPORT_KINDS,     /* + transport_kind: all ranks, slabs; bytes/s out of a
                                                        * rank */
    CHECK_HEAT_ALL = CHECK_ALLTOALL + TRANSPORT_KINDS, /* all ranks, a run of the program; cells/s */
    CHECK_TRANSPOSE_ALL,
    CHECK_DISK_WRITE, /* raw, all ranks; bytes/s */
    CHECK_CHECKPOINT, /* all ranks; bytes/s */
    CHECK_LIKES
} check_like;

typedef struct check_like_row {
    const char *key, *name; /* "ring_peer" in records and references; "ring over peer" for people */
    check_part part;
    const char *unit; /* "B/s", "flop/s" or "cells/s" */
} check_like_row;
extern const check_like_row check_likes[CHECK_LIKES];
const char *check_part_key(check_part p); /* "gpu", "host_link" */
/* The like of that key; CHECK_LIKES: there is none. */
check_like check_like_of(const char *key);

typedef struct check_figure {
    check_like like;
    int a, b;     /* ranks: b = -1 but of a link; a = -1 of the job and the disk */
    bool alone;   /* no other component of its kind was busy on its host */
    int round;    /* from 0 */
    double rate;  /* per second, the median of its repeats */
    double noise; /* of the median: (p90 - min) / p50 / sqrt(repeats) */
} check_figure;

/* Wrong bits. */
typedef struct check_fault {
    check_like like;
    int a, b;
    int round;
    sentence where; /* step, place, pattern: "word 123 of 4 GiB: wrote 0x..., read 0x..." */
} check_fault;

/* A rank and the device that it drives. */
typedef struct check_rank {
    char host[64];
    int first_of_host, first_of_gpu; /* the lowest rank of the same host; that drives the same GPU */
    char gpu[64], uuid[DEVICE_UUID_BYTES], pci[DEVICE_PCI_BYTES]; /* "" on the host device */
    double clock_mhz, power_w, temperature_c; /* under arithmetic, last round; NaN unknown */
    bool held_by_power, held_by_heat;
} check_rank;

typedef struct check_findings {
    device_kind device;
    char device_name[256]; /* of rank 0, as the vendor names it: its GPU, or on the host device its
                            * processor */
    int ranks, hosts;
    check_rank *rank;     /* [ranks] */
    check_figure *figure; /* owned */
    int figures;
    check_fault *fault; /* owned */
    int faults;
    int rounds; /* that were finished */
    sentence why;       /* it is incomplete; "": it is not */
    sentence not_tried; /* "ring over nccl: no GPU; pairs: one rank": what was left out and why; ""
                         * nothing */
} check_findings;

void check_findings_create(check_findings *f, device_kind kind, int ranks);
void check_findings_destroy(check_findings *f);
void check_findings_add(check_findings *f, check_figure figure);
void check_findings_add_fault(check_findings *f, check_fault fault);

/* "GPU of rank 3 (node7, GPU-0b5b4cd2, 0000:00:06.0)"; a = -1: all of them. */
void check_name(sentence *out, const check_findings *f, check_part part, int a, int b);
/* Adds "; its power limit holds it down: 1410 MHz (the others 1980), 600 W, 55 C" where there is such. */
void check_add_state(sentence *out, const check_findings *f, int rank);
