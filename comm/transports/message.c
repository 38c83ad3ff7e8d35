/* Message memory; see message.h for which end is whose. */
#include "transports/message.h"

#include <assert.h>

#include "ranks/check.h"
#include "ranks/decomp.h"

message_buffer message_buffer_create(device *d, transport_kind t, int64_t bytes)
{
    message_buffer b = { .d = d, .bytes = bytes };
    void *p;
    if (bytes == 0) return b;
    b.kernel_memory = d->kind == DEVICE_CUDA && t == TRANSPORT_MAPPED ? DEVICE_MEMORY_PINNED : DEVICE_MEMORY_DEVICE;
    const int64_t block_bytes = d->kind == DEVICE_CUDA && t == TRANSPORT_AWARE ? message_block_bytes(bytes) : bytes;
    DEVICE_CALL(d, alloc, b.kernel_memory, (size_t)block_bytes, &p);
    b.kernel = p;
    if (d->kind == DEVICE_CUDA && t == TRANSPORT_STAGED) DEVICE_CALL(d, alloc, DEVICE_MEMORY_PINNED, (size_t)bytes, &p);
    b.mpi = p;
    return b;
}

void message_buffer_destroy(message_buffer *b)
{
    if (b->bytes == 0) return;
    device *d = b->d;
    if (b->mpi != b->kernel) DEVICE_CALL(d, free, DEVICE_MEMORY_PINNED, b->mpi);
    DEVICE_CALL(d, free, b->kernel_memory, b->kernel);
    *b = (message_buffer){ 0 };
}

void message_buffer_to_mpi(const message_buffer *b, int64_t offset, int64_t bytes, device_stream *s)
{
    assert(offset >= 0 && bytes >= 0 && offset + bytes <= b->bytes);
    if (b->mpi == b->kernel || bytes == 0) return;
    DEVICE_CALL(b->d, copy, b->mpi + offset, b->kernel + offset, (size_t)bytes, s);
}

void message_buffer_to_kernel(const message_buffer *b, int64_t offset, int64_t bytes, device_stream *s)
{
    assert(offset >= 0 && bytes >= 0 && offset + bytes <= b->bytes);
    if (b->mpi == b->kernel || bytes == 0) return;
    DEVICE_CALL(b->d, copy, b->kernel + offset, b->mpi + offset, (size_t)bytes, s);
}

static int tag_of(int direction, int64_t piece) { return (int)piece * DECOMP_NEIGHBOURS + direction; }

void message_send_init(const char *from, int64_t bytes, int rank, int direction, MPI_Comm comm, MPI_Request *request)
{
    for (int64_t p = 0; p < message_pieces(bytes); p++)
        MPI_CHECK(MPI_Send_init(from + p * MESSAGE_PIECE_BYTES_MAX, message_piece_bytes(bytes, p), MPI_BYTE, rank,
                                tag_of(direction, p), comm, &request[p]));
}

void message_recv_init(char *to, int64_t bytes, int rank, int direction, MPI_Comm comm, MPI_Request *request)
{
    for (int64_t p = 0; p < message_pieces(bytes); p++)
        MPI_CHECK(MPI_Recv_init(to + p * MESSAGE_PIECE_BYTES_MAX, message_piece_bytes(bytes, p), MPI_BYTE, rank,
                                tag_of(DECOMP_NEIGHBOURS - 1 - direction, p), comm, &request[p]));
}
