#include "check/findings.h"

#include <stdlib.h>
#include <string.h>

#include "ranks/check.h"

static const char bytes[] = "B/s", flops[] = "flop/s", cells[] = "cells/s";

/* A row for each transport. */
#define OVER_EACH(LIKE, KEY, NAME)                                                                \
    [LIKE + TRANSPORT_STAGED] = { KEY "_staged", NAME " over staged", CHECK_JOB, bytes },         \
            [LIKE + TRANSPORT_AWARE] = { KEY "_aware", NAME " over aware", CHECK_JOB, bytes },    \
            [LIKE + TRANSPORT_MAPPED] = { KEY "_mapped", NAME " over mapped", CHECK_JOB, bytes }, \
            [LIKE + TRANSPORT_PEER] = { KEY "_peer", NAME " over peer", CHECK_JOB, bytes },       \
            [LIKE + TRANSPORT_NCCL] = { KEY "_nccl", NAME " over nccl", CHECK_JOB, bytes }

const check_like_row check_likes[CHECK_LIKES] = {
    [CHECK_COPY] = { "copy", "memory copy", CHECK_GPU, bytes },
    [CHECK_READ] = { "read", "memory read", CHECK_GPU, bytes },
    [CHECK_PATTERNS] = { "patterns", "memory patterns", CHECK_GPU, bytes },
    [CHECK_FMA_F32] = { "fma_f32", "arithmetic in f32", CHECK_GPU, flops },
    [CHECK_FMA_F64] = { "fma_f64", "arithmetic in f64", CHECK_GPU, flops },
    [CHECK_TO_HOST] = { "to_host", "copy to the host", CHECK_GPU, bytes },
    [CHECK_FROM_HOST] = { "from_host", "copy from the host", CHECK_GPU, bytes },
    [CHECK_HEAT_SINGLE] = { "heat_single", "heat, single steps", CHECK_GPU, cells },
    [CHECK_HEAT_BLOCKS] = { "heat_blocks", "heat, blocks of steps", CHECK_GPU, cells },
    [CHECK_TRANSPOSE] = { "transpose", "transpose", CHECK_GPU, cells },
    [CHECK_HEAT_SINGLE_CACHED] = { "heat_single_cached", "heat, single, cached", CHECK_GPU, cells },
    [CHECK_HEAT_BLOCKS_CACHED] = { "heat_blocks_cached", "heat, blocks, cached", CHECK_GPU, cells },
    [CHECK_TRANSPOSE_CACHED] = { "transpose_cached", "transpose, cached", CHECK_GPU, cells },
    [CHECK_PAIR_ONEWAY] = { "pair_oneway", "pair, one way", CHECK_LINK, bytes },
    [CHECK_PAIR_BOTH] = { "pair_both", "pair, both ways", CHECK_LINK, bytes },
    [CHECK_HOST_PAIR] = { "host_pair", "pair of hosts", CHECK_HOST_LINK, bytes },
    OVER_EACH(CHECK_RING, "ring", "ring"),
    OVER_EACH(CHECK_ALLTOALL, "alltoall", "all-to-all"),
    [CHECK_HEAT_ALL] = { "heat_all", "heat, all ranks", CHECK_JOB, cells },
    [CHECK_TRANSPOSE_ALL] = { "transpose_all", "transpose, all ranks", CHECK_JOB, cells },
    [CHECK_DISK_WRITE] = { "disk_write", "raw write", CHECK_DISK, bytes },
    [CHECK_CHECKPOINT] = { "checkpoint", "checkpoint", CHECK_DISK, bytes },
};

check_like check_like_of(const char *key)
{
    int l = 0;
    while (l < CHECK_LIKES && strcmp(check_likes[l].key, key) != 0) l++;
    return (check_like)l;
}

static const struct {
    const char *key, *all; /* all: of all parts alike */
} parts[CHECK_PARTS] = {
    [CHECK_GPU] = { "gpu", "all GPUs alike" },
    [CHECK_LINK] = { "link", "all links of ranks alike" },
    [CHECK_HOST] = { "host", "all hosts alike" },
    [CHECK_HOST_LINK] = { "host_link", "all links of hosts alike" },
    [CHECK_DISK] = { "disk", "the disk" },
    [CHECK_JOB] = { "job", "all ranks together" },
};

const char *check_part_key(check_part p) { return parts[p].key; }

void check_findings_create(check_findings *f, device_kind kind, int ranks)
{
    *f = (check_findings){ .device = kind, .ranks = ranks };
    f->rank = CHECK_ALLOC(calloc((size_t)ranks, sizeof *f->rank));
}

void check_findings_destroy(check_findings *f)
{
    free(f->rank);
    free(f->figure);
    free(f->fault);
    *f = (check_findings){ .ranks = 0 };
}

/* Room for one more, doubled when it is full: a number of elements that is a power of two. */
static void *room(void *array, int count, size_t each)
{
    if (count & (count - 1)) return array;
    return CHECK_ALLOC(realloc(array, (count ? 2 * (size_t)count : 1) * each));
}

void check_findings_add(check_findings *f, check_figure figure)
{
    f->figure = room(f->figure, f->figures, sizeof figure);
    f->figure[f->figures++] = figure;
}

void check_findings_add_fault(check_findings *f, check_fault fault)
{
    f->fault = room(f->fault, f->faults, sizeof fault);
    f->fault[f->faults++] = fault;
}

/* ---- names, and what a GPU tells of itself ---- */

enum { UUID_SHOWN = 12 }; /* "GPU-0b5b4cd2": nvidia-smi takes it */

static void name_gpu(sentence *out, const check_findings *f, int rank)
{
    const check_rank *r = &f->rank[rank];
    sentence_set(out, "%s of rank %d (%s", f->device == DEVICE_HOST ? "processor cores" : "GPU", rank,
                 r->host);
    if (r->uuid[0]) sentence_add(out, ", %.*s", UUID_SHOWN, r->uuid);
    if (r->pci[0]) sentence_add(out, ", %s", r->pci);
    sentence_add(out, ")");
}

static void name_host(sentence *out, const check_findings *f, int rank)
{
    int ranks = 0;
    for (int r = 0; r < f->ranks; r++) ranks += f->rank[r].first_of_host == f->rank[rank].first_of_host;
    sentence_set(out, "host %s (%d rank%s from %d on)", f->rank[rank].host, ranks, ranks == 1 ? "" : "s",
                 rank);
}

void check_name(sentence *out, const check_findings *f, check_part part, int a, int b)
{
    const bool cores = part == CHECK_GPU && f->device == DEVICE_HOST;
    if (a < 0) sentence_set(out, "%s", cores ? "processor cores of all ranks alike" : parts[part].all);
    else if (part == CHECK_GPU) name_gpu(out, f, a);
    else if (part == CHECK_HOST) name_host(out, f, a);
    else if (part == CHECK_LINK) sentence_set(out, "link of ranks %d and %d (%s)", a, b, f->rank[a].host);
    else sentence_set(out, "link of hosts %s and %s", f->rank[a].host, f->rank[b].host);
}

void check_add_state(sentence *out, const check_findings *f, int rank)
{
    const check_rank *r = &f->rank[rank];
    double others = 0; /* the highest clock of the others */
    for (int k = 0; k < f->ranks; k++)
        if (k != rank && f->rank[k].clock_mhz > others) others = f->rank[k].clock_mhz;
    if (strcmp(r->gpu, f->rank[rank ? 0 : f->ranks - 1].gpu) != 0)
        sentence_add(out, "; it is another GPU, %s", r->gpu);
    if (r->held_by_power) sentence_add(out, "; its power limit holds it down");
    if (r->held_by_heat) sentence_add(out, "; heat holds it down");
    if (!(r->clock_mhz > 0) || !(r->held_by_power || r->held_by_heat || r->clock_mhz < 0.97 * others)) return;
    sentence_add(out, ": %.0f MHz", r->clock_mhz);
    if (others > 0) sentence_add(out, " (the others %.0f)", others);
    if (r->power_w > 0) sentence_add(out, ", %.0f W", r->power_w);
    if (r->temperature_c > 0) sentence_add(out, ", %.0f C", r->temperature_c);
}
