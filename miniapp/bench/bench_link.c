#include "bench/bench_link.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/check.h"
#include "transports/message.h"
#include "transports/peer.h"

typedef enum way { LINK_COPY, LINK_MPI_DEVICE, LINK_MPI } way;

struct bench_link {
    const bench_world *world;
    device *d;
    device_stream *stream;
    MPI_Comm comm; /* not owned */
    bench_link_message message[BENCH_LINK_MESSAGES_MAX];
    int64_t at[BENCH_LINK_MESSAGES_MAX]; /* offset of each into the buffers */
    int count, rank;                     /* rank: of this one in comm */
    int64_t bytes;
    way way;
    device_memory memory;
    char *out, *in;
    peer *peer;
    char *theirs[BENCH_LINK_MESSAGES_MAX]; /* their `in`, here */
};

const char *bench_link_unaware(const bench_world *world, device *d)
{
    static bool asked, aware;
    static sentence why;
    if (!asked) aware = topology_probe_aware(world->top, d, TOPOLOGY_SELF_EXE, &why);
    asked = true;
    return aware ? NULL : why.text;
}

bool bench_link_carries(ladder_case *c)
{
    const bool needed = bench_way_of(c->rung) == TRANSPORT_AWARE;
    const char *const why = needed ? bench_link_unaware(bench_world_of(c), c->d) : NULL;
    return !why || sentence_refuse(&c->missing, "%s", why);
}

/* Peer copies where every pair can, on all ranks or none; the host device always takes messages. */
static void choose_way(bench_link *l, bool messages)
{
    sentence why;
    int ranks[BENCH_LINK_MESSAGES_MAX];
    for (int i = 0; i < l->count; i++) ranks[i] = l->message[i].rank;
    l->way = LINK_MPI;
    if (l->d->kind == DEVICE_CUDA && !messages)
        l->peer = peer_create(l->d, ranks, l->count, (size_t)l->bytes, (void **)l->theirs, l->comm, &why);
    if (agree_all(l->peer != NULL, l->world->top->comm)) l->way = LINK_COPY;
    else if (l->peer) peer_destroy(&l->peer);
    if (l->way == LINK_MPI && l->d->kind == DEVICE_CUDA && !bench_link_unaware(l->world, l->d))
        l->way = LINK_MPI_DEVICE;
    l->memory = l->way == LINK_MPI ? DEVICE_MEMORY_PINNED : DEVICE_MEMORY_DEVICE;
}

static void make_buffers(bench_link *l)
{
    device *d = l->d;
    const int64_t block_bytes = l->way == LINK_MPI_DEVICE ? message_block_bytes(l->bytes) : l->bytes;
    DEVICE_CALL(d, alloc, l->memory, (size_t)block_bytes, (void **)&l->out);
    if (l->way == LINK_COPY) l->in = peer_own(l->peer);
    else DEVICE_CALL(d, alloc, l->memory, (size_t)block_bytes, (void **)&l->in);
}

/* Byte number `at` of the message that this rank sends with this tag. */
static char byte_of(int rank, int tag, int64_t at)
{
    return (char)(((uint64_t)(rank + 1) * 31 + (uint64_t)tag * 7 + (uint64_t)at * 13 + ((uint64_t)at >> 8)) %
                  251);
}

static void fill(bench_link *l)
{
    device *d = l->d;
    char *host = CHECK_CALLOC(l->bytes, 1);
    for (int i = 0; i < l->count; i++)
        for (int64_t at = 0; at < l->message[i].bytes; at++) host[l->at[i] + at] = byte_of(l->rank, i, at);
    DEVICE_CALL(d, copy, l->out, host, (size_t)l->bytes, l->stream);
    DEVICE_CALL(d, fill_bytes, l->in, 0xff, (size_t)l->bytes, l->stream);
    DEVICE_CALL(d, stream_sync, l->stream);
    free(host);
    MPI_CHECK(MPI_Barrier(l->comm)); /* nothing is sent before the receiver has poisoned */
}

bench_link *bench_link_create(const bench_world *world, device *d, device_stream *s, MPI_Comm comm,
                              bool messages, const bench_link_message *message, int count)
{
    assert(count <= BENCH_LINK_MESSAGES_MAX);
    bench_link *l = CHECK_CALLOC(1, sizeof *l);
    *l = (bench_link){
        .world = world, .d = d, .stream = s, .comm = comm, .count = count, .rank = ranks_mine(comm)
    };
    for (int i = 0; i < count; i++) {
        l->message[i] = message[i];
        l->at[i] = l->bytes;
        l->bytes += message_align(message[i].bytes);
    }
    choose_way(l, messages);
    make_buffers(l);
    fill(l);
    return l;
}

void bench_link_destroy(bench_link **link)
{
    bench_link *l = *link;
    if (!l) return;
    DEVICE_CALL(l->d, stream_sync, l->stream);
    DEVICE_CALL(l->d, free, l->memory, l->out);
    if (l->way == LINK_COPY) peer_destroy(&l->peer);
    else DEVICE_CALL(l->d, free, l->memory, l->in);
    free(l);
    *link = NULL;
}

static void run_messages(bench_link *l)
{
    MPI_Request request[2 * BENCH_LINK_MESSAGES_MAX];
    int requests = 0;
    for (int i = 0; i < l->count; i++) {
        const bench_link_message *m = &l->message[i];
        if (m->receive)
            MPI_CHECK(MPI_Irecv(l->in + l->at[i], (int)m->bytes, MPI_BYTE, m->rank, l->count - 1 - i, l->comm,
                                &request[requests++]));
    }
    for (int i = 0; i < l->count; i++) {
        const bench_link_message *m = &l->message[i];
        if (m->send)
            MPI_CHECK(MPI_Isend(l->out + l->at[i], (int)m->bytes, MPI_BYTE, m->rank, i, l->comm,
                                &request[requests++]));
    }
    MPI_CHECK(MPI_Waitall(requests, request, MPI_STATUSES_IGNORE));
}

static void run_peer_copies(bench_link *l)
{
    for (int i = 0; i < l->count; i++)
        if (l->message[i].send)
            DEVICE_CALL(l->d, copy, l->theirs[i] + l->at[l->count - 1 - i], l->out + l->at[i],
                        (size_t)l->message[i].bytes, l->stream);
}

void bench_link_run(bench_link *l)
{
    if (l->way == LINK_COPY) run_peer_copies(l);
    else run_messages(l);
}

int bench_link_wrong(bench_link *l)
{
    device *d = l->d;
    int wrong = -1;
    char *host = CHECK_CALLOC(l->bytes, 1);
    DEVICE_CALL(d, stream_sync, l->stream);
    MPI_CHECK(MPI_Barrier(l->comm)); /* whoever copies into our memory has done so */
    DEVICE_CALL(d, copy, host, l->in, (size_t)l->bytes, l->stream);
    DEVICE_CALL(d, stream_sync, l->stream);
    for (int i = 0; i < l->count && wrong < 0; i++) {
        const bench_link_message *m = &l->message[i];
        for (int64_t at = 0; at < m->bytes && m->receive && wrong < 0; at++)
            if (host[l->at[i] + at] != byte_of(m->rank, l->count - 1 - i, at)) wrong = i;
    }
    free(host);
    return wrong;
}

const char *bench_link_way(const bench_link *l)
{
    if (l->way != LINK_MPI) return l->way == LINK_COPY ? "peer copy" : "MPI, device";
    return l->d->kind == DEVICE_CUDA ? "MPI, pinned" : "MPI";
}

static void run_many(void *link, int runs)
{
    bench_link *l = link;
    for (int i = 0; i < runs; i++) bench_link_run(l);
    DEVICE_CALL(l->d, stream_sync, l->stream);
}

void bench_link_ceiling(ladder_case *c, MPI_Comm comm, const bench_link_message *message, int count)
{
    bench_link *l = bench_link_create(bench_world_of(c), c->d, c->stream, comm, false, message, count);
    c->ceiling_name = bench_link_way(l);
    c->ceiling_rate = c->work / bench_world_median_s(l->world, run_many, l);
    bench_link_destroy(&l);
}
