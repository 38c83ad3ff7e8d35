/* Message memory; see message.h for which end is whose. */
#include "transports/message.h"

#include <stdlib.h>

#include "ranks/check.h"

int64_t message_chunk_bytes = (int64_t)1 << 20;

message_buffer message_buffer_create(device *d, transport_kind t, int64_t bytes)
{
    message_buffer b = { .d = d, .bytes = bytes };
    void *p;
    if (bytes == 0) return b;
    b.kernel_memory =
        d->kind == DEVICE_CUDA && t == TRANSPORT_MAPPED ? DEVICE_MEMORY_PINNED : DEVICE_MEMORY_DEVICE;
    const int64_t block_bytes =
        d->kind == DEVICE_CUDA && t == TRANSPORT_AWARE ? message_block_bytes(bytes) : bytes;
    DEVICE_CALL(d, alloc, b.kernel_memory, (size_t)block_bytes, &p);
    b.kernel = p;
    if (d->kind == DEVICE_CUDA && t == TRANSPORT_STAGED)
        DEVICE_CALL(d, alloc, DEVICE_MEMORY_PINNED, (size_t)bytes, &p);
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
    if (b->mpi == b->kernel || bytes == 0) return;
    DEVICE_CALL(b->d, copy, b->mpi + offset, b->kernel + offset, (size_t)bytes, s);
}

void message_buffer_to_kernel(const message_buffer *b, int64_t offset, int64_t bytes, device_stream *s)
{
    if (b->mpi == b->kernel || bytes == 0) return;
    DEVICE_CALL(b->d, copy, b->kernel + offset, b->mpi + offset, (size_t)bytes, s);
}

/* ---- messages under way ---- */

static void add(message_part **list, int *count, message_part m)
{
    *list = CHECK_ALLOC(realloc(*list, ((size_t)*count + 1) * sizeof m));
    (*list)[(*count)++] = m;
}

void message_flow_add_out(message_flow *f, message_part m, device_event *ready)
{
    add(&f->out, &f->sends, m);
    f->ready = CHECK_ALLOC(realloc(f->ready, (size_t)f->sends * sizeof *f->ready));
    f->ready[f->sends - 1] = ready;
}

void message_flow_add_in(message_flow *f, message_part m) { add(&f->in, &f->receives, m); }

void message_flow_open(message_flow *f)
{
    f->send = CHECK_CALLOC(f->sends + f->receives, sizeof *f->send);
    f->receive = f->send + f->sends;
    f->arrived = CHECK_CALLOC(f->receives, sizeof *f->arrived);
}

void message_flow_close(message_flow *f)
{
    free(f->out);
    free(f->in);
    free(f->ready);
    free(f->send);
    free(f->arrived);
    *f = (message_flow){ 0 };
}

void message_flow_begin(message_flow *f, char *from, char *to)
{
    f->from = from;
    f->sent = f->received = 0;
    for (int i = 0; i < f->receives; i++) {
        const message_part *p = &f->in[i];
        MPI_CHECK(MPI_Irecv(to + p->at, (int)p->bytes, MPI_BYTE, p->rank, p->tag, f->comm, &f->receive[i]));
    }
}

/* Sends the next message, and those behind it that wait for the same event, once that is done; waits for it
 * if `patient`. False if it is not done. */
static bool send_next(message_flow *f, bool patient)
{
    device *d = f->d;
    device_event *const event = f->ready[f->sent];
    bool done = true;
    if (patient) DEVICE_CALL(d, event_sync, event);
    else DEVICE_CALL(d, event_done, event, &done);
    while (done && f->sent < f->sends && f->ready[f->sent] == event) {
        const int i = f->sent++;
        const message_part *p = &f->out[i];
        MPI_CHECK(MPI_Isend(f->from + p->at, (int)p->bytes, MPI_BYTE, p->rank, p->tag, f->comm, &f->send[i]));
    }
    return done;
}

/* Takes arrived messages; with `patient`, waits for at least one. */
static void receive_some(message_flow *f, bool patient)
{
    int count = 0;
    if (patient) MPI_CHECK(MPI_Waitsome(f->receives, f->receive, &count, f->arrived, MPI_STATUSES_IGNORE));
    else MPI_CHECK(MPI_Testsome(f->receives, f->receive, &count, f->arrived, MPI_STATUSES_IGNORE));
    for (int i = 0; i < count; i++) f->take(f->context, f->arrived[i]);
    f->received += count;
}

void message_flow_progress(message_flow *f)
{
    while (f->sent < f->sends && send_next(f, false)) continue;
    if (f->received < f->receives) receive_some(f, false);
}

void message_flow_end(message_flow *f)
{
    const bool one_event = f->sent < f->sends && f->ready[f->sent] == f->ready[f->sends - 1];
    /* nothing leaves before it, so asking again and again gains nothing */
    if (one_event) (void)send_next(f, true);
    while (f->sent < f->sends && f->received < f->receives) message_flow_progress(f);
    while (f->sent < f->sends) (void)send_next(f, true);
    while (f->received < f->receives) receive_some(f, true);
    if (f->sends > 0) MPI_CHECK(MPI_Waitall(f->sends, f->send, MPI_STATUSES_IGNORE));
}
