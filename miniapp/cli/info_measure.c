#include "cli/info_measure.h"

#include <math.h>
#include <stdlib.h>

#include "bench/bench_link.h"
#include "ranks/check.h"
#include "ranks/ranks.h"

enum { BATCHES = 5 };
/* Beyond the caches of a GPU or a socket; small enough to be moved many times in a second. */
static const size_t copy_bytes_cuda = (size_t)1 << 28, copy_bytes_host = (size_t)1 << 26;
static const int64_t link_bytes_cuda = 1 << 24, link_bytes_host = 1 << 22;

static double batch_s(const topology *t, device *d, device_event *const stamp[2], device_stream *s,
                      void *const memory[2], size_t bytes, int copies)
{
    double seconds = 0;
    MPI_CHECK(ranks_barrier(t->comm));
    DEVICE_CALL(d, event_record, stamp[0], s);
    for (int i = 0; i < copies; i++) DEVICE_CALL(d, copy, memory[1], memory[0], bytes, s);
    DEVICE_CALL(d, event_record, stamp[1], s);
    DEVICE_CALL(d, event_sync, stamp[1]);
    DEVICE_CALL(d, event_seconds, stamp[0], stamp[1], &seconds);
    return seconds / copies;
}

double info_measure_copy(const topology *t, device *d)
{
    const size_t bytes = d->kind == DEVICE_CUDA ? copy_bytes_cuda : copy_bytes_host;
    const int copies = d->kind == DEVICE_CUDA ? 20 : 4;
    device_event *stamp[2];
    device_stream *s;
    void *memory[2];
    double best_s = INFINITY;
    DEVICE_CALL(d, stream_create, false, &s);
    for (int i = 0; i < 2; i++) {
        DEVICE_CALL(d, event_create, true, &stamp[i]);
        DEVICE_CALL(d, alloc, DEVICE_MEMORY_DEVICE, bytes, &memory[i]);
        /* pages never written are one page of zeros, in cache */
        DEVICE_CALL(d, fill_bytes, memory[i], 1, bytes, s);
    }
    (void)batch_s(t, d, stamp, s, memory, bytes, 1);
    for (int i = 0; i < BATCHES; i++) best_s = fmin(best_s, batch_s(t, d, stamp, s, memory, bytes, copies));
    for (int i = 0; i < 2; i++) {
        DEVICE_CALL(d, free, DEVICE_MEMORY_DEVICE, memory[i]);
        DEVICE_CALL(d, event_destroy, &stamp[i]);
    }
    DEVICE_CALL(d, stream_destroy, &s);
    return 2 * (double)bytes / best_s;
}

/* From one rank to another, while the others wait. */
static bool one_link(const bench_world *world, device *d, device_stream *s, int from, int to, int64_t bytes,
                     info_links *out, sentence *why)
{
    const topology *t = world->top;
    const bool sends = t->rank == from, receives = t->rank == to;
    /* a rank that only waits is its own partner, and sends nothing */
    const int other = sends ? to : receives ? from : t->rank;
    const bench_link_message message = { other, 0, 0, sends, receives, bytes };
    bench_link *l = bench_link_create(world, d, s, t->comm, BENCH_LINK_SHORTEST, &message, 1);
    bool right = bench_link_verify(l, t->rank, other);
    if (!right)
        sentence_set(why, "%lld bytes from rank %d to rank %d did not arrive as they were sent",
                     (long long)bytes, from, to);
    right = topology_agree(t, right, why);
    if (right) out->bytes_per_s[from * t->ranks + to] = (double)bytes / bench_link_times(l).p50;
    out->way = bench_link_way(l);
    bench_link_destroy(&l);
    return right;
}

bool info_measure_links(const topology *t, device *d, info_links *out, sentence *why)
{
    const bench_world world = { .top = t, .dir = "" };
    const int64_t bytes = d->kind == DEVICE_CUDA ? link_bytes_cuda : link_bytes_host;
    device_stream *s;
    bool right = true;
    *out = (info_links){ NULL, (size_t)bytes, NULL };
    if (t->ranks > INFO_LINKS_RANKS_MAX)
        return sentence_refuse(why, "links are measured pair by pair, between %d ranks at most",
                               INFO_LINKS_RANKS_MAX);
    out->bytes_per_s = CHECK_ALLOC(malloc((size_t)t->ranks * (size_t)t->ranks * sizeof *out->bytes_per_s));
    DEVICE_CALL(d, stream_create, false, &s);
    for (int i = 0; i < t->ranks * t->ranks; i++) out->bytes_per_s[i] = NAN;
    for (int from = 0; from < t->ranks && right; from++)
        for (int to = 0; to < t->ranks && right; to++)
            if (from != to) right = one_link(&world, d, s, from, to, bytes, out, why);
    DEVICE_CALL(d, stream_destroy, &s);
    return right;
}
