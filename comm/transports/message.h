/* Memory for messages, how many bytes one MPI call may carry, and messages under way. Private to comm/, where
 * halo and redist share it, and to the benchmarks of the link.
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

/* Every message starts on FIELD_ALIGN_BYTES, so that packing moves whole lines. */
static inline int64_t message_align(int64_t bytes)
{
    return (bytes + FIELD_ALIGN_BYTES - 1) / FIELD_ALIGN_BYTES * FIELD_ALIGN_BYTES;
}

/* Staged messages on a GPU travel in chunks of that many bytes. The same on all ranks; whoever changes it
 * (benchmarks, tests) does so before a halo is created. */
extern int64_t message_chunk_bytes;

/* The bytes of a chunk of a message: the usual ones, more for a message that would have more than 8 chunks,
 * and never over one MPI call's share. A chunk costs 10 us besides its copies (H200), and 8 of them leave an
 * eighth of the message without overlap. */
static inline int64_t message_chunk_of(int64_t whole_bytes, int64_t usual_bytes)
{
    enum { CHUNKS_MAX = 8 };
    const int64_t least = message_align((whole_bytes + CHUNKS_MAX - 1) / CHUNKS_MAX);
    const int64_t bytes = usual_bytes > least ? usual_bytes : least;
    return bytes < MESSAGE_PIECE_BYTES_MAX ? bytes : MESSAGE_PIECE_BYTES_MAX;
}

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

/* A message: bytes [at, at + bytes) of a buffer, or of a field. */
typedef struct message_part {
    int rank, tag;
    int64_t at, bytes;
} message_part;

/* ---- messages under way ---- */

/* The messages of an exchange, which leave as soon as what they carry is there, and are handed on one by one
 * as they arrive. The maker sets device, communicator, take and context, adds the messages, opens it, and
 * closes it, which frees the lists. */
typedef void message_take(void *context, int message);
typedef struct message_flow {
    device *d;
    MPI_Comm comm;
    message_take *take; /* is called for each that arrives */
    void *context;
    message_part *out, *in; /* [sends], [receives] */
    int sends, receives;
    device_event **ready;        /* [sends]: message k leaves behind ready[k]; neighbours may have the same
                                  * one. The events are the maker's */
    char *from;                  /* of the exchange under way, as are the numbers */
    int sent, received;
    MPI_Request *send, *receive; /* [sends], [receives] */
    int *arrived;                /* [receives]: scratch of MPI_Testsome */
} message_flow;

void message_flow_add_out(message_flow *f, message_part m, device_event *ready);
void message_flow_add_in(message_flow *f, message_part m);
void message_flow_open(message_flow *f);
void message_flow_close(message_flow *f);
/* Posts the receives into `to`; then the caller records the events. */
void message_flow_begin(message_flow *f, char *from, char *to);
/* Sends what is ready, hands on what has arrived; never waits. */
void message_flow_progress(message_flow *f);
/* Waits until all have arrived and have been handed on, and all that is sent may be overwritten. */
void message_flow_end(message_flow *f);

/* ---- messages by NCCL, on the stream (transport_nccl.c) ---- */

typedef struct message_nccl message_nccl; /* a communicator of NCCL's, which lives as long as its MPI one */
/* NULL on all ranks, with the reason in why, where there is none. */
message_nccl *message_nccl_of(const transport_links *on, sentence *why);
/* Enqueues the flow's messages, as many each way, between memory that kernels see. They match in the order of
 * the senders. */
void message_nccl_exchange(message_nccl *n, const message_flow *f, char *from, char *to, device_stream *s);
