/* Rows that go straight to where the neighbour wants them, over a link between two GPUs, with the two
 * questions that every such exchange has to answer: may I write there, and has everything arrived? Both are
 * flags in the receiver's memory, which count exchanges. */
#pragma once

#include "core/sentence.h"
#include "device/device.h"

LINKAGE_C_BEGIN

enum { LADDER_DIRECT_MAX = 8 };

/* The two ends of a link tell each other by these, in memory that both have mapped; zeros before the first
 * exchange. */
typedef struct ladder_direct_flags {
    uint64_t free;    /* written by the neighbour: exchange n may write into its memory */
    uint64_t arrived; /* written by the neighbour: all of exchange n is here */
    uint64_t done;    /* blocks that have stored their part, of all exchanges; this rank's own */
    uint64_t unused;
} ladder_direct_flags;

typedef struct ladder_direct {
    void *there;      /* in the neighbour's memory; multiples of 16 bytes, as are: */
    const void *here; /* what is sent */
    int64_t bytes;
    ladder_direct_flags *flags_there, *flags_here;
    int rank;   /* for NVSHMEM and NCCL, whose `there` is this rank's own: the neighbour, .. */
    int64_t at; /* .. and for NCCL the offset of `there` in its memory */
} ladder_direct;

/* Exchange n = 1, 2 .. over all links, enqueued on s. begin: tells all neighbours that their writes may come,
 * and waits until this rank's may. end, behind the writes: tells them that all is there, and waits for
 * theirs. Return an error code of the CUDA device. */
int ladder_direct_begin(const ladder_direct *link, int count, uint64_t n, device_stream *s);
int ladder_direct_end(const ladder_direct *link, int count, uint64_t n, device_stream *s);
/* Both, and between them bulk stores by a few thread blocks for each link. Needs compute capability 9.0: else
 * an error, which count = 0 asks for alone. */
int ladder_direct_bulk(const ladder_direct *link, int count, uint64_t n, device_stream *s);

/* The same by NCCL's device API, into `in`, which has as many bytes on all ranks of comm, an ncclComm_t.
 * NULL, with the reason, where it cannot be; once all ranks have theirs, all open it, and false is the
 * same. */
typedef struct ladder_nccl ladder_nccl;
ladder_nccl *ladder_nccl_create(void *comm, int64_t bytes, void **in, sentence *why);
bool ladder_nccl_open(ladder_nccl *n, int ranks, sentence *why);
void ladder_nccl_destroy(ladder_nccl **n);
int ladder_nccl_exchange(ladder_nccl *n, const ladder_direct *link, int count, device_stream *s);

/* The same by NVSHMEM's calls on a stream. find: false, with the reason, where the library is not here; makes
 * the job's id where that is not NULL, on one rank. All ranks then start with that id and stop, once in a
 * process. alloc and free: memory that all ranks have, as many bytes each, for `in` and the flags; NULL, with
 * the reason, where a rank's is not reached: stop frees it. An address of it stands for the same place of any
 * rank. */
typedef struct ladder_nvshmem_id {
    char bytes[128];
} ladder_nvshmem_id;
bool ladder_nvshmem_find(ladder_nvshmem_id *id, sentence *why);
bool ladder_nvshmem_start(const ladder_nvshmem_id *id, int rank, int ranks, sentence *why);
void ladder_nvshmem_stop(void);
void *ladder_nvshmem_alloc(int64_t bytes, int ranks, sentence *why);
void ladder_nvshmem_free(void *in);
int ladder_nvshmem_exchange(const ladder_direct *link, int count, uint64_t n, device_stream *s);

LINKAGE_C_END
