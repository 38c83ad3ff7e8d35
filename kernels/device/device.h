/* Where fields live and what computes on them: one struct of functions, two implementations (host, CUDA),
 * both in one binary. A step is the same code on both.
 *
 * Streams: work on one stream runs in order; `work` functions only enqueue (no sync, no allocation, no
 * default stream). The host device runs work at once, in the calling thread's OpenMP team: its streams are
 * names, its events time stamps. A host kernel called outside a parallel region opens its own team of
 * `threads`; inside one it runs on the calling thread alone, because each thread then serves one stream.
 *
 * Errors: functions return 0 or a code for error_text. Programmer's errors (wrong type, radius, count) are
 * asserts. Functions that the host device lacks are NULL, and a question tells so in advance: kind before pin
 * and unpin, unshared before handle_*, peer_exchange and transpose_parts, no_graphs before graph_*,
 * stencil_inkernel_can before inkernel_flag_words, and before a stencil_pass with a step, persistent_bytes
 * before persistent_prepare and persistent_pass. An empty box is a no-op. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/boundary.h"
#include "core/box.h"
#include "core/field.h"
#include "core/stencil.h"
#include "core/value.h"
#include "core/inkernel.h"
#include "core/linkage.h"

LINKAGE_C_BEGIN

typedef enum device_kind { DEVICE_HOST, DEVICE_CUDA } device_kind;

typedef enum device_memory {
    DEVICE_MEMORY_DEVICE, /* where kernels run: HBM, or host memory, untouched until a kernel writes it */
    DEVICE_MEMORY_PINNED, /* host memory that copy engines reach directly; MPI may always use it */
} device_memory;

typedef struct device device;
typedef struct device_stream device_stream;
typedef struct device_event device_event;
typedef struct device_graph device_graph;

/* Place of a box's cells in a message: dense, row-major, from `offset` cells into the buffer. */
typedef struct pack_piece {
    box cells;
    int64_t offset;
} pack_piece;
enum { PACK_PIECES_MAX = 8, BOUNDARY_BOXES_MAX = 8 };

/* A transpose's effect on its target and source. TRANSPOSE_ADD comes with TRANSPOSE_INCREMENT_SOURCE. */
enum { TRANSPOSE_STORE = 0, TRANSPOSE_ADD = 1, TRANSPOSE_INCREMENT_SOURCE = 2 };
typedef struct transpose_call transpose_call; /* transpose_peer.h */
typedef struct memory_pattern memory_pattern; /* core/pattern.h */
typedef struct pattern_wrong pattern_wrong;

typedef enum unpack_mode { UNPACK_STORE, UNPACK_ADD } unpack_mode;

/* A device allocation in the form by which another process of the host maps it; sent as bytes. */
enum { DEVICE_HANDLE_BYTES = 64 };
typedef struct device_handle {
    unsigned char bytes[DEVICE_HANDLE_BYTES];
} device_handle;

/* One neighbour in an exchange without messages. Cells are stored directly into its inbox, dense and
 * row-major, in parts. Each part has a flag at the receiver, which counts the part's chunks that have
 * arrived, over all exchanges. Both sides count on the device, from 0, so that one call, or a captured graph
 * of it, serves every exchange: number n uses inbox n mod 2. Pointers and sent boxes are the same each time.
 */
enum { DEVICE_LINK_PARTS_MAX = 64, DEVICE_LINK_FLAG_BYTES = DEVICE_LINK_PARTS_MAX * 8 };
typedef struct device_link {
    box send, receive;         /* own coordinates, of one shape; waited for even if they are empty */
    void *there[2];            /* the neighbour's inboxes */
    const void *here[2];       /* own inboxes */
    uint64_t *flag_there;      /* [DEVICE_LINK_PARTS_MAX] in the neighbour's memory; 0 at first */
    const uint64_t *flag_here; /* own */
    uint64_t *done;            /* own memory, on a line of its own, 0 at first: thread blocks that have
                                * ended */
} device_link;

/* The levels of a single step, which computes next from cur, and from prev if the stencil has one. next may
 * be prev, for a cell reads prev only at its own index, never cur. */
typedef struct stencil_levels {
    void *next;
    const void *cur, *prev;
} stencil_levels;

/* A box of a pass of temporal blocking. Levels: those that the stencil has, else NULL. */
typedef struct temporal_call {
    field_shape shape;
    void *next, *next_prev;
    const void *cur, *prev;
    box cells;
    int steps;
    boundary sides;
    uint64_t *change; /* device memory; NULL: no norm */
} temporal_call;

/* Memory through which tiles of persistent passes, and ranks, exchange cells. */
typedef struct persistent_memory {
    void *here;          /* persistent_bytes; on all ranks 0 before the first pass after persistent_prepare */
    void *above, *below; /* of the ranks that own the rows above and below; NULL: none */
} persistent_memory;

/* A persistent pass. own_sides: BOUNDARY_NONE where rows are cut. */
typedef struct persistent_call {
    field_shape shape;
    void *next;
    const void *cur;
    int steps;
    boundary own_sides;
    persistent_memory memory;
    uint64_t *change; /* as in temporal_call */
} persistent_call;

typedef struct matrix {
    void *cells;
    int64_t pitch; /* in cells */
} matrix;

enum { DEVICE_UUID_BYTES = 48, DEVICE_PCI_BYTES = 16 };

/* Variants of a pass give the same bits and differ in speed. stencil_bind names them and chooses number 0,
 * the fastest where this was measured. Another one may be chosen while no pass is enqueued. */
enum { DEVICE_VARIANTS_MAX = 4 };
typedef struct device_variants {
    int count, chosen;
    const char *name[DEVICE_VARIANTS_MAX]; /* valid until the next bind */
} device_variants;

/* A device whose calls take modelled time: `make SIM=1` builds the real program as the ranks of SimGrid's
 * SMPI (jobs/simulate). Code that has threads, or reads a clock before MPI's start, tests WEFT_SIM, which is
 * 0 in other builds. */
typedef struct device_simulated {
    double bytes_per_s, launch_s; /* time of a call: a launch, and the bytes that it moves */
    const char *platform;         /* the simulated network, for records */
} device_simulated;

struct device {
    device_kind kind;
    const device_simulated *simulated; /* NULL: it is real */
    const device *through; /* kind HOST: temporal_pass streams rows through this device, whose names the host
                            * device bears; the host device makes images beyond periodic sides itself
                            * (streaming/streaming.h). NULL: the device computes itself */
    int ordinal;       /* CUDA device number in this process, else 0 */
    int threads;       /* host: OpenMP threads a kernel may use */
    char name[256];    /* the vendor's name */
    char uuid[DEVICE_UUID_BYTES]; /* "GPU-...", or "" on the host */
    int sm_clock_mhz, mem_clock_mhz; /* 0 where unknown */
    char pci[DEVICE_PCI_BYTES];   /* a GPU's address, "0000:1b:00.0"; "" on the host */
    const char *unshared; /* why no other process can map its memory (follows "because"); NULL: unknown until
                           * tried */
    const char *no_graphs; /* why there are no graphs (follows "because"); NULL: there are */
    char driver[64];   /* "" on the host */
    device_variants stencil_variants;  /* of stencil_pass with the bound stencil */
    device_variants temporal_variants; /* of temporal_pass with the bound stencil: ways to cut a box */

    void (*destroy)(device **self);
    const char *(*error_text)(int code);
    int (*bind_thread)(device *d); /* every thread calls this once before anything below */
    int (*memory_info)(device *d, size_t *free_bytes, size_t *total_bytes);
    int (*synchronize)(device *d); /* only for set-up and end, never in the loop */

    /* Starts on FIELD_ALIGN_BYTES; out of memory is an error code. free of DEVICE: also of NULL. */
    int (*alloc)(device *d, device_memory where, size_t bytes, void **out);
    int (*free)(device *d, device_memory where, void *p);
    /* Page-locks whole pages of host memory that something else mapped, so that copies reach it as they reach
     * PINNED; unpin undoes it. */
    int (*pin)(device *d, void *p, size_t bytes);
    int (*unpin)(device *d, void *p);
    /* Device memory of another process, which may drive the same GPU. make: the handle of an allocation of
     * DEVICE memory that alloc returned. open: its address in this process; a handle may be opened more than
     * once, and is closed as often. All processes close it before its owner frees it. */
    int (*handle_make)(device *d, void *allocation, device_handle *out);
    int (*handle_open)(device *d, const device_handle *h, void **out);
    int (*handle_close)(device *d, void *opened);
    int (*stream_create)(device *d, bool high_priority, device_stream **out);
    int (*stream_destroy)(device *d, device_stream **s);
    int (*stream_sync)(device *d, device_stream *s);
    int (*event_create)(device *d, bool timed, device_event **out);
    int (*event_destroy)(device *d, device_event **e);
    int (*event_record)(device *d, device_event *e, device_stream *s);
    /* the stream waits, the caller does not */
    int (*event_wait)(device *d, device_event *e, device_stream *s);
    int (*event_sync)(device *d, device_event *e);                   /* the caller waits */
    int (*event_done)(device *d, device_event *e, bool *done);
    /* both events are timed and done */
    int (*event_seconds)(device *d, device_event *from, device_event *to, double *seconds);
    /* Work enqueued on s between begin and end, and on streams that wait in between for an event recorded
     * after begin, is kept instead of run, and can be launched any number of times with its present
     * arguments. By end, s must have waited for all such streams. An event recorded in between may be waited
     * for outside only after it was recorded outside again. In between the calling thread only enqueues. */
    int (*graph_begin)(device *d, device_stream *s);
    int (*graph_end)(device *d, device_stream *s, device_graph **out);
    int (*graph_launch)(device *d, device_graph *g, device_stream *s);
    int (*graph_destroy)(device *d, device_graph **g);

    /* ---- work: enqueued on a stream ---- */
    int (*copy)(device *d, void *to, const void *from, size_t bytes, device_stream *s); /* any two memories */
    int (*copy_rows)(device *d, void *to, size_t to_pitch_bytes, const void *from, size_t from_pitch_bytes,
                     size_t row_bytes, size_t rows, device_stream *s);
    int (*fill_bytes)(device *d, void *to, int byte, size_t bytes, device_stream *s);

    /* stencil_bind keeps the weights on the device (__constant__) until the next bind; one stencil at a time.
     * It waits for the device, so it is set-up, not loop. stencil_pass takes a step of the given boxes (own
     * coordinates, disjoint, count <= STENCIL_BOXES_MAX). step: NULL, or the images of these cells that it
     * stores, and the inboxes that it waits for (inkernel.h); with inboxes or a norm a single box, that of
     * all own cells. stencil_inkernel_can: true on CUDA for stars and boxes; change: with the norm too. */
    int (*stencil_bind)(device *d, const stencil *op);
    int (*stencil_pass)(device *d, const field_shape *f, stencil_levels levels, const box *boxes, int count,
                        const inkernel_step *step, device_stream *s);
    bool (*stencil_inkernel_can)(device *d, bool change);
    /* Before in-kernel steps begin: stores those images of a level that are flag words, with the epoch
     * step->epoch, as the step that wrote the level would have. */
    int (*inkernel_flag_words)(device *d, const field_shape *f, const void *level, const inkernel_step *step,
                               device_stream *s);
    /* Temporal blocking: several steps of the bound stencil in one pass over memory. It computes next in a
     * box from cur, and with two levels also next_prev, from cur and prev; temporal.h states what their
     * ghosts hold. temporal_steps: the best number of steps of a pass of at most `most` (>= 1), with norm of
     * one that can take the norm of its last step; 0: this stencil has no such passes. temporal_pass takes
     * only such numbers. It raises *change to max_change of the last two levels. Each number of a pass with a
     * norm is one of a pass without, too. */
    int (*temporal_steps)(device *d, int most, bool norm);
    int (*temporal_pass)(device *d, const temporal_call *c, device_stream *s);
    /* Persistent passes: any number of steps of the bound stencil in one launch, on a field that stays in the
     * device's registers meanwhile. Rows may be cut among ranks that have as many each and a device each, of
     * one model; all of them launch the same passes, which wait for each other. sides: the domain's. cut:
     * rows are cut. persistent_bytes: memory that such passes need on each rank; 0: the registers do not hold
     * this field, or the stencil has no such passes. persistent_prepare: set-up for fields of that size,
     * after each stencil_bind, if persistent_bytes is not 0. persistent_pass computes the own cells of next
     * from those of cur; it neither reads nor writes ghosts, and raises *change to max_change of
     * the last two levels. One pass at a time. */
    size_t (*persistent_bytes)(device *d, const field_shape *f, const boundary *sides, bool cut);
    int (*persistent_prepare)(device *d, const field_shape *f, const boundary *sides, bool cut);
    int (*persistent_pass)(device *d, const persistent_call *c, device_stream *s);
    /* Writes the ghosts in the given boxes (own coordinates, each outside the domain along some axis). */
    int (*boundary_fill)(device *d, const field_shape *f, void *field, const boundary *sides,
                         const box *boxes, int count, device_stream *s);
    int (*pack)(device *d, const field_shape *f, const void *field, void *buffer, const pack_piece *pieces,
                int count, device_stream *s);
    int (*unpack)(device *d, const field_shape *f, void *field, const void *buffer, const pack_piece *pieces,
                  int count, unpack_mode mode, device_stream *s);
    /* Stores the cells into the neighbours' inboxes, waits on the device for those from the neighbours, and
     * fills the ghosts. Few blocks wait, so that they never fill the machine. count <= PACK_PIECES_MAX. */
    int (*peer_exchange)(device *d, const field_shape *f, void *field, const device_link *links, int count,
                         device_stream *s);
    /* to(c, r) = or += from(r, c) for r < rows, c < cols; `from` is written only with
     * TRANSPOSE_INCREMENT_SOURCE (from += 1 after it was read). */
    int (*transpose)(device *d, dtype t, matrix to, matrix from, int64_t rows, int64_t cols, int flags,
                     device_stream *s);
    /* This rank's share of a distributed transpose (transpose_peer.h). flags: both or none. When it is done,
     * the source has been read, and incremented, and the target is complete. All ranks make the same calls; a
     * rank that is ahead waits for the others. */
    int (*transpose_parts)(device *d, dtype t, const transpose_call *call, int flags, device_stream *s);
    int (*value_fill)(device *d, const field_shape *f, void *field, const value *v, box cells,
                      device_stream *s);

    /* Reductions: *result (one uint64 in device memory) is overwritten.
     * max_error, max_change: cell_abs_bits of the largest |u - value| (in double) and |a - b| (in the field's
     * type). fingerprint: the sum mod 2^64 over own cells; (x_first, y_first) is the global index of own cell
     * (0,0). */
    int (*max_error)(device *d, const field_shape *f, const void *field, const value *v, box cells,
                     uint64_t *result, device_stream *s);
    int (*max_change)(device *d, const field_shape *f, const void *a, const void *b, box cells,
                      uint64_t *result, device_stream *s);
    int (*fingerprint)(device *d, const field_shape *f, const void *field, int64_t nx_global, int64_t x_first,
                       int64_t y_first, uint64_t *result, device_stream *s);

    /* Memory patterns (core/pattern.h). words: even, at most PATTERN_WORDS_MAX. *result, in device memory, is
     * overwritten. */
    int (*pattern_write)(device *d, uint64_t *to, int64_t words, const memory_pattern *p, device_stream *s);
    int (*pattern_check)(device *d, const uint64_t *from, int64_t words, const memory_pattern *p,
                         pattern_wrong *result, device_stream *s);
};

/* The device that computes: d itself, or the GPU behind it if the fields stay in host memory. */
static inline const device *device_computing(const device *d) { return d->through ? d->through : d; }

/* The functions that each device has in files of their subjects: stencil_pass_host for the member
 * stencil_pass. X declares each (DEVICE_DECLARED), or puts it into its member (DEVICE_SET). */
#define DEVICE_KERNELS(X, on) \
    X(on, stencil_bind) X(on, stencil_pass) X(on, temporal_steps) X(on, temporal_pass) \
    X(on, boundary_fill) X(on, pack) X(on, unpack) X(on, transpose) X(on, value_fill) \
    X(on, max_error) X(on, max_change) X(on, fingerprint) X(on, pattern_write) X(on, pattern_check)
#define DEVICE_FUNCTION(member, name) __typeof__(*((device *)0)->member) name
#define DEVICE_DECLARED(on, member) DEVICE_FUNCTION(member, member##_##on);
#define DEVICE_SET(on, member) .member = member##_##on,
/* A function of the member's name in the device's own file. */
#define DEVICE_OWN(member) .member = member,

/* A host device; threads = 0: OpenMP's own number. Never fails. */
device *device_host_create(int threads);

/* Bytes of all allocations by weft's own code on this rank so far, freed or not, so that no table hides
 * behind a larger buffer of another time. Allocations of MPI, HDF5 and jansson, and mapped memory, are not
 * counted. 0 in builds without SIM=1. */
int64_t memory_sim_bytes(void);

/* Does this value of CUDA_VISIBLE_DEVICES name no GPU? */
bool device_cuda_none_named(const char *shown);
/* CUDA devices visible to this process. 0: there is none, or no driver, or weft was built without CUDA; *why,
 * if not NULL, then gets the reason (a static string that follows "because"). */
int device_cuda_count(const char **why);
/* The UUID of one of them; "" if it is unknown. */
void device_cuda_uuid(int ordinal, char uuid[DEVICE_UUID_BYTES]);
/* Opens one of them. NULL on failure, with *code for device_cuda_error_text. */
device *device_cuda_create(int ordinal, int *code);
const char *device_cuda_error_text(int code);
/* The toolkit that weft was built with, 13000 for CUDA 13.0; 0 without CUDA. */
int device_cuda_built(void);

static inline void device_destroy(device **d)
{
    if (d && *d) (*d)->destroy(d);
}

LINKAGE_C_END
