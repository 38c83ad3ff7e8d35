/* Memory for messages, how many bytes one MPI call may carry, messages under way, and memory of ranks of one
 * host that takes their place. Private to comm/, where halo and redist share it, and to the benchmarks of the
 * link.
 *
 * A buffer has two ends: kernels read and write `kernel`, MPI reads and writes `mpi`. On the host device,
 * where MPI takes device memory (aware), and where kernels reach pinned memory over the bus (mapped), both
 * are the same memory and the moves between them cost nothing; with staging on a GPU, `kernel` is device
 * memory and `mpi` pinned host memory, and the moves are copies on the caller's stream. */
#pragma once

#include <mpi.h>
#include <stdint.h>

#include "device/device.h"
#include "transports/transport.h"

/* MPI counts are int, and messages beyond 2 GiB have met overflows in MPI libraries: 1 GiB is one call's
 * share. */
#define MESSAGE_PIECE_BYTES_MAX ((int64_t)1 << 30)

/* A message is cut into pieces of `each` bytes, and the rest. */
static inline int64_t message_pieces(int64_t bytes, int64_t each) { return (bytes + each - 1) / each; }

static inline int message_piece_bytes(int64_t bytes, int64_t each, int64_t piece)
{
    const int64_t left = bytes - piece * each;
    return (int)(left < each ? left : each);
}

/* Every message starts on FIELD_ALIGN_BYTES, so that packing moves whole lines. */
static inline int64_t message_align(int64_t bytes)
{
    return (bytes + FIELD_ALIGN_BYTES - 1) / FIELD_ALIGN_BYTES * FIELD_ALIGN_BYTES;
}

/* Staged messages on a GPU travel in chunks of that many bytes or, where that would be more than
 * MESSAGE_CHUNKS_MAX of them, of larger ones: a chunk costs 10 us besides its copies (H200), and 8 of them
 * leave an eighth of a message without overlap. The same on all ranks; whoever changes it, or the next
 * (benchmarks, tests), does so before a halo is created. */
enum { MESSAGE_CHUNKS_MAX = 8 };
extern int64_t message_chunk_bytes;
extern bool message_segments; /* between ranks of a host they go through segments, where these can be
                               * had */

/* How much device memory to allocate for `bytes` that MPI sends from or receives into. CUDA puts allocations
 * of less than 2 MiB together into blocks of that size, MPI maps a neighbour's whole block, and a block that
 * MPI has mapped cannot be mapped once more by peer.h ("resource already mapped"): so no block holds both. */
static inline int64_t message_block_bytes(int64_t bytes)
{
    const int64_t block_bytes = (int64_t)2 << 20;
    return bytes > block_bytes ? bytes : block_bytes;
}

typedef struct message_buffer {
    device *d; /* not owned */
    char *kernel, *mpi;
    device_memory kernel_memory; /* where `kernel` lies; `mpi`, if another, is pinned */
    int64_t bytes;
} message_buffer;

/* bytes = 0 gives an empty buffer. Failure to allocate ends the job. */
message_buffer message_buffer_create(device *d, transport_kind t, int64_t bytes);
void message_buffer_destroy(message_buffer *b);

/* Bytes [offset, offset + bytes): from the kernels' end to MPI's, or back; enqueued on s. */
void message_buffer_to_mpi(const message_buffer *b, int64_t offset, int64_t bytes, device_stream *s);
void message_buffer_to_kernel(const message_buffer *b, int64_t offset, int64_t bytes, device_stream *s);

/* Persistent requests of one piece of the message of a link, to the neighbour and from it. Pieces may be
 * started in any order, so each has a tag of its own, and so has each direction: a rank may stand behind
 * several. */
void message_send_init(const transport_links *on, int link, int64_t piece, const char *from, int bytes,
                       MPI_Request *request);
void message_recv_init(const transport_links *on, int link, int64_t piece, char *to, int bytes,
                       MPI_Request *request);

/* Tells every neighbour `each_bytes` of `mine` per link, and learns as many of theirs, of the same link.
 * Collective. */
void message_swap(const transport_links *on, const void *mine, void *theirs, size_t each_bytes);

/* The messages of one exchange, which leave as soon as what they carry is there, and are handed on one by one
 * as they arrive. */
typedef struct message_flow {
    int sends, receives;
    MPI_Request *send, *receive; /* persistent; [sends], [receives] */
    device_event **ready;        /* [sends]: message k leaves behind ready[k]; neighbours may have the same
                                  * one. Not owned */
    int sent, received;
    int *arrived; /* [receives]: scratch of MPI_Testsome */
} message_flow;
typedef void message_take(void *context, int message);

/* With room for the requests, which the caller then makes. */
message_flow message_flow_create(int sends, int receives, device_event **ready);
void message_flow_destroy(message_flow *f);
void message_flow_begin(message_flow *f); /* posts the receives; then the caller records the events */
/* Starts what is ready, hands on what has arrived; never waits. */
void message_flow_progress(message_flow *f, device *d, message_take *take, void *context);
/* Waits until all have arrived and have been handed on, and all that is sent may be overwritten. */
void message_flow_end(message_flow *f, device *d, message_take *take, void *context);

/* ---- segments ----
 * Page-locked memory of this rank that its neighbours on the same host have mapped as well, so that copy
 * engines of two processes reach the same bytes and no processor copies them: a memfd, which lives until the
 * last process unmaps it and never stays behind. */

/* Mapped here. */
typedef struct segment {
    char *base; /* NULL: none */
    int64_t bytes;
} segment;

typedef struct segments {
    device *d;   /* not owned */
    segment own; /* of two sides, one behind the other; without a base where no neighbour needs one */
    segment opened[PACK_PIECES_MAX];       /* the neighbours', each once */
    const char *there[PACK_PIECES_MAX][2]; /* of each link: what the neighbour sends, in its sides; NULL:
                                            * not through a segment */
} segments;

/* Collective. at[i], in a side of `side_bytes`, is where the cells for link i will stand; wanted: for this
 * rank's links at all. Both ends of a link use segments, or neither: on different hosts, or where
 * memory cannot be mapped or locked. */
segments segments_create(const transport_links *on, const int64_t *at, int64_t side_bytes, bool wanted);
/* Copies to and from them must be done here; neighbours may still read. */
void segments_destroy(segments *s);

static inline char *segments_side(const segments *s, int side)
{
    return s->own.base + side * (s->own.bytes / 2);
}
