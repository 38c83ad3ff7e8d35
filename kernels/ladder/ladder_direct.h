/* Rows that go straight to where the neighbour wants them, over a link between two GPUs, with the two
 * questions that every such exchange has to answer: may I write there, and has everything arrived? Both are
 * flags in the receiver's memory, which count exchanges. */
#pragma once

#include "core/sentence.h"
#include "device/device.h"

LINKAGE_C_BEGIN

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
    int rank;   /* the neighbour, .. */
    int64_t at; /* .. and the offset of `there` in its memory */
} ladder_direct;

/* All links of a rank, by value, since kernels take them so. */
enum { LADDER_LINKS_MAX = 8 };
typedef struct ladder_links {
    ladder_direct of[LADDER_LINKS_MAX];
    int count;
} ladder_links;

/* Exchange n = 1, 2 .. over all links, enqueued on s. begin: tells all neighbours that their writes may come,
 * and waits until this rank's may. end, behind the writes: tells them that all is there, and waits for
 * theirs. Return an error code of the CUDA device. */
int ladder_direct_begin(const ladder_links *all, uint64_t n, device_stream *s);
int ladder_direct_end(const ladder_links *all, uint64_t n, device_stream *s);
/* Both, and between them bulk stores by a few thread blocks for each link. Needs compute capability 9.0: else
 * an error, which count = 0 asks for alone. */
int ladder_direct_bulk(const ladder_links *all, uint64_t n, device_stream *s);

/* The same through a library that maps memory of its own for all ranks. `there` and the flags there are then
 * addresses in this rank's own memory, which stand for the same place in a neighbour's. */
typedef struct ladder_window { /* begins what a library keeps of it */
    void *memory;
} ladder_window;
typedef struct ladder_library_id {
    char bytes[128];
} ladder_library_id;
typedef struct ladder_library {
    const char *missing; /* why this build has no such library; else NULL */
    /* NULL for NCCL, which transport_nccl.c starts. find: false, with the reason, where the library is not
     * here; makes the job's id where that is not NULL, on one rank. All ranks then start with that id and
     * stop, once in a process. */
    bool (*find)(ladder_library_id *id, sentence *why);
    bool (*start)(const ladder_library_id *id, int rank, int ranks, sentence *why);
    void (*stop)(void);
    /* Memory of as many bytes on all ranks; comm: an ncclComm_t. NULL, with the reason, where it cannot be.
     * Once all ranks have theirs, all open it, for ranks first, first + 1 .. of the job, which links call 0,
     * 1 ..; false is the same. destroy is collective. */
    ladder_window *(*create)(void *comm, int64_t bytes, sentence *why);
    bool (*open)(ladder_window *w, int first, int ranks, sentence *why);
    void (*destroy)(ladder_window **w);
    int (*exchange)(ladder_window *w, const ladder_links *all, uint64_t n, device_stream *s);
} ladder_library;
extern const ladder_library ladder_nccl, ladder_nvshmem;

LINKAGE_C_END
