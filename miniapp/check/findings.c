#include "check/findings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/check.h"

static const char bytes[] = "B/s", flops[] = "flop/s", cells[] = "cells/s";
enum { BLOCK = CHECK_BLOCK_STEPS };

#define OVER(TRANSPORT, NAME)                                                                               \
    [CHECK_RING + TRANSPORT] = { "ring_" NAME, "ring over " NAME, CHECK_JOB, bytes, "halo/" NAME "_ring" }, \
                  [CHECK_ALLTOALL + TRANSPORT] = { "alltoall_" NAME, "all-to-all over " NAME, CHECK_JOB,    \
                                                   bytes, "alltoall/" NAME "_slabs" }

const check_like_row check_likes[CHECK_LIKES] = {
    [CHECK_PATTERNS] = { "patterns", "memory patterns", CHECK_GPU, bytes },
    [CHECK_COPY] = { "copy", "memory copy", CHECK_GPU, bytes, "ceiling/copy" },
    [CHECK_READ] = { "read", "memory read", CHECK_GPU, bytes, "ceiling/read" },
    [CHECK_FMA_F32] = { "fma_f32", "arithmetic in f32", CHECK_GPU, flops, "ceiling/fma" },
    [CHECK_FMA_F64] = { "fma_f64", "arithmetic in f64", CHECK_GPU, flops, "ceiling/fma", .type = DTYPE_F64 },
    [CHECK_HEAT_SINGLE] = { "heat_single", "heat, single steps", CHECK_GPU, cells, "roofline/star",
                            .steps = 1 },
    [CHECK_HEAT_BLOCKS] = { "heat_blocks", "heat, blocks of steps", CHECK_GPU, cells, "fused/production",
                            .steps = BLOCK },
    [CHECK_TRANSPOSE] = { "transpose", "transpose", CHECK_GPU, cells, "roofline/transpose", .steps = 1 },
    [CHECK_TO_HOST] = { "to_host", "copy to the host", CHECK_GPU, bytes, "ceiling/d2h", .turns = true },
    [CHECK_FROM_HOST] = { "from_host", "copy from the host", CHECK_GPU, bytes, "ceiling/h2d", .turns = true },
    [CHECK_PAIR_ONEWAY] = { "pair_oneway", "pair, one way", CHECK_LINK, bytes, "halo/link_oneway" },
    [CHECK_PAIR_BOTH] = { "pair_both", "pair, both ways", CHECK_LINK, bytes, "halo/link_both" },
    [CHECK_HOST_PAIR] = { "host_pair", "pair of hosts", CHECK_HOST_LINK, bytes, "halo/link_both" },
    OVER(TRANSPORT_STAGED, "staged"),
    OVER(TRANSPORT_AWARE, "aware"),
    OVER(TRANSPORT_MAPPED, "mapped"),
    OVER(TRANSPORT_PEER, "peer"),
    OVER(TRANSPORT_NCCL, "nccl"),
    [CHECK_HEAT_ALL] = { "heat_all", "heat, all ranks", CHECK_JOB, cells },
    [CHECK_TRANSPOSE_ALL] = { "transpose_all", "transpose, all ranks", CHECK_JOB, cells },
    [CHECK_DISK_WRITE] = { "disk_write", "raw write", CHECK_DISK, bytes },
    [CHECK_CHECKPOINT] = { "checkpoint", "checkpoint", CHECK_DISK, bytes, "io/write_slabs" },
};

const char *const check_part_keys[] = { "gpu", "link", "host", "host_link", "disk", "job" };

void check_findings_create(check_findings *f, device_kind kind, int ranks)
{
    *f = (check_findings){ .device = kind, .ranks = ranks };
    f->rank = CHECK_ALLOC(calloc((size_t)ranks, sizeof *f->rank));
}

void check_findings_destroy(check_findings *f)
{
    for (int i = 0; i < f->figures; i++) free(f->figure[i].wrong);
    free(f->figure);
    free(f->rank);
    *f = (check_findings){ .ranks = 0 };
}

void check_findings_add(check_findings *f, check_figure figure, const char *wrong)
{
    figure.wrong = isnan(figure.rate) ? CHECK_ALLOC(strdup(wrong)) : NULL;
    f->wrong += figure.wrong != NULL;
    if ((f->figures & (f->figures - 1)) == 0) /* there is room for a power of two of them */
        f->figure = CHECK_ALLOC(realloc(f->figure, (2 * (size_t)f->figures + 1) * sizeof figure));
    f->figure[f->figures++] = figure;
}

void check_part_name(sentence *out, const check_findings *f, check_part part, int a, int b)
{
    static const char *const all[] = { "all GPUs alike",  "all links of ranks alike",
                                       "all hosts alike", "all links of hosts alike",
                                       "the disk",        "all ranks together" };
    const check_rank *r = a < 0 ? NULL : &f->rank[a];
    const bool cores = part == CHECK_GPU && f->device == DEVICE_HOST;
    if (!r) sentence_set(out, "%s", cores ? "processor cores of all ranks alike" : all[part]);
    else if (cores) sentence_set(out, "processor cores of rank %d (%s)", a, r->host);
    else if (part == CHECK_GPU)
        sentence_set(out, "GPU of rank %d (%s, %.12s, %s)", a, r->host, r->uuid, r->pci);
    else if (part == CHECK_HOST) sentence_set(out, "host %s (ranks from %d on)", r->host, a);
    else if (part == CHECK_LINK) sentence_set(out, "link of ranks %d and %d (%s)", a, b, r->host);
    else sentence_set(out, "link of hosts %s and %s", r->host, f->rank[b].host);
}
