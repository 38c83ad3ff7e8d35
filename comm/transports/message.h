/* Memory for messages, how many bytes one MPI call may carry, and a message's requests. Private to comm/, where halo and redist
 * share it, and to the benchmarks of the link.
 *
 * A buffer has two ends: kernels read and write `kernel`, MPI reads and writes `mpi`. On the host device, where MPI takes
 * device memory (aware), and where kernels reach pinned memory over the bus (mapped), both are the same memory and the moves
 * between them cost nothing; with staging on a GPU, `kernel` is device memory and `mpi` pinned host memory, and the moves
 * are copies on the caller's stream. */
#pragma once

#include <mpi.h>
#include <stdint.h>

#include "device/device.h"
#include "transports/transport_kind.h"

/* MPI counts are int, and messages beyond 2 GiB have met overflows in MPI libraries: 1 GiB is one call's share. */
#define MESSAGE_PIECE_BYTES_MAX ((int64_t)1 << 30)

static inline int64_t message_pieces(int64_t bytes)
{
    return (bytes + MESSAGE_PIECE_BYTES_MAX - 1) / MESSAGE_PIECE_BYTES_MAX;
}

static inline int message_piece_bytes(int64_t bytes, int64_t piece)
{
    const int64_t left = bytes - piece * MESSAGE_PIECE_BYTES_MAX;
    return (int)(left < MESSAGE_PIECE_BYTES_MAX ? left : MESSAGE_PIECE_BYTES_MAX);
}

/* Every message starts on FIELD_ALIGN_BYTES, so that packing moves whole lines. */
static inline int64_t message_align(int64_t bytes)
{
    return (bytes + FIELD_ALIGN_BYTES - 1) / FIELD_ALIGN_BYTES * FIELD_ALIGN_BYTES;
}

/* How much device memory to allocate for `bytes` that MPI sends from or receives into. CUDA puts allocations of less than 2 MiB
 * together into blocks of that size, MPI maps a neighbour's whole block, and a block that MPI has mapped cannot be mapped once more
 * by peer.h ("resource already mapped"): so no block holds both. */
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

/* Persistent requests of the message to a neighbour in that direction, and of the one from it: message_pieces(bytes) of them.
 * Pieces may be started in any order, so each has a tag of its own, and so has each direction: a rank may stand behind several. */
void message_send_init(const char *from, int64_t bytes, int rank, int direction, MPI_Comm comm, MPI_Request *request);
void message_recv_init(char *to, int64_t bytes, int rank, int direction, MPI_Comm comm, MPI_Request *request);
