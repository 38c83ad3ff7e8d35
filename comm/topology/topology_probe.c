/* May device buffers be given to MPI? Asked in an order in which nothing can hurt the caller: MPI's own word
 * first (many say no), then a child process, where a crash is only the child's (an MPI may claim support that
 * it lacks), and last the real ranks over the real network, with the data checked. A single no anywhere is
 * everybody's no. */
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "ranks/agree.h"
#include "ranks/check.h"
#include "ranks/ranks.h"
#include "ranks/timer.h"
#include "topology/topology.h"
#include "topology/topology_spawn.h"
#include "transports/message.h"

enum { TAG = 1, RING_SIZES = 2, CHILD_LIMIT_S = 15, EXCHANGE_LIMIT_S = 15 };

/* The child's exit statuses, above those that a shell or MPI would give. */
enum { CHILD_NO_INIT = 40, CHILD_NO_GPU, CHILD_FAILED /* + probe_result */ };

typedef enum probe_result {
    PROBE_ARRIVED,
    PROBE_NO_MEMORY,
    PROBE_MPI_FAILED,
    PROBE_TIMED_OUT,
    PROBE_WRONG_DATA,
} probe_result;

/* A part of a sentence: "... data arrived damaged". */
static const char *probe_text(probe_result r)
{
    switch (r) {
    case PROBE_ARRIVED: return "data arrived";
    case PROBE_NO_MEMORY: return "no device memory or stream for the probe";
    case PROBE_MPI_FAILED: return "an MPI call failed";
    case PROBE_TIMED_OUT: return "the message did not arrive in time";
    case PROBE_WRONG_DATA: return "data arrived damaged";
    }
    return "unknown";
}

/* Differs between ranks, and between positions over more than any segment size. */
static unsigned char pattern(int rank, size_t i)
{
    const unsigned long long h =
        (i + 1) * 0x9E3779B97F4A7C15ull + (unsigned long long)rank * 0xC4CEB9FE1A85EC53ull;
    return (unsigned char)(h >> 56);
}

static bool wait_both(MPI_Request both[2], double limit_s, probe_result *result)
{
    const double end_s = timer_now_s() + limit_s;
    int done = 0;
    while (!done) {
        if (MPI_Testall(2, both, &done, MPI_STATUSES_IGNORE) != MPI_SUCCESS) *result = PROBE_MPI_FAILED;
        if (!done && timer_now_s() > end_s) *result = PROBE_TIMED_OUT;
        if (*result != PROBE_ARRIVED) return false;
    }
    return true;
}

typedef struct probe_buffers {
    device_stream *stream;
    void *out, *in, *host;
} probe_buffers;

static bool make_buffers(device *d, size_t bytes, probe_buffers *b)
{
    const size_t device_bytes = (size_t)message_block_bytes((int64_t)bytes);
    *b = (probe_buffers){ 0 };
    return d->stream_create(d, false, &b->stream) == 0 &&
           d->alloc(d, DEVICE_MEMORY_DEVICE, device_bytes, &b->out) == 0 &&
           d->alloc(d, DEVICE_MEMORY_DEVICE, device_bytes, &b->in) == 0 &&
           d->alloc(d, DEVICE_MEMORY_PINNED, bytes, &b->host) == 0;
}

static void drop_buffers(device *d, probe_buffers *b)
{
    if (b->out) (void)d->free(d, DEVICE_MEMORY_DEVICE, b->out);
    if (b->in) (void)d->free(d, DEVICE_MEMORY_DEVICE, b->in);
    if (b->host) (void)d->free(d, DEVICE_MEMORY_PINNED, b->host);
    if (b->stream) (void)d->stream_destroy(d, &b->stream);
}

static bool fill(device *d, const probe_buffers *b, size_t bytes, int rank)
{
    unsigned char *host = b->host;
    for (size_t i = 0; i < bytes; i++) host[i] = pattern(rank, i);
    return d->copy(d, b->out, host, bytes, b->stream) == 0 &&
           d->fill_bytes(d, b->in, 0, bytes, b->stream) == 0 && d->stream_sync(d, b->stream) == 0;
}

static bool holds(device *d, const probe_buffers *b, size_t bytes, int rank)
{
    const unsigned char *host = b->host;
    if (d->copy(d, b->host, b->in, bytes, b->stream) != 0 || d->stream_sync(d, b->stream) != 0) return false;
    for (size_t i = 0; i < bytes; i++)
        if (host[i] != pattern(rank, i)) return false;
    return true;
}

/* Sends `bytes` of a pattern of this rank's own to `to` and receives as many from `from`, both from and into
 * device memory. Never waits longer than limit_s; after a time-out its buffers are left to MPI (they cannot
 * be taken back). */
static probe_result probe_exchange(device *d, MPI_Comm comm, int to, int from, size_t bytes, double limit_s)
{
    probe_result result = PROBE_ARRIVED;
    MPI_Request both[2] = { MPI_REQUEST_NULL, MPI_REQUEST_NULL };
    probe_buffers b;
    const int rank = ranks_mine(comm);
    /* All ranks have their buffers, or nobody sends. */
    const bool ready = make_buffers(d, bytes, &b) && fill(d, &b, bytes, rank);
    if (!agree_all(ready, comm)) {
        drop_buffers(d, &b);
        return PROBE_NO_MEMORY;
    }
    if (MPI_Irecv(b.in, (int)bytes, MPI_BYTE, from, TAG, comm, &both[0]) != MPI_SUCCESS ||
        MPI_Isend(b.out, (int)bytes, MPI_BYTE, to, TAG, comm, &both[1]) != MPI_SUCCESS)
        result = PROBE_MPI_FAILED;
    else if (wait_both(both, limit_s, &result) && !holds(d, &b, bytes, from))
        result = PROBE_WRONG_DATA;
    if (result == PROBE_ARRIVED || result == PROBE_WRONG_DATA) drop_buffers(d, &b);
    return result;
}

int topology_probe_child(void)
{
    static const size_t sizes_bytes[] = { 64, 64 << 10, 8 << 20 };
    int code = 0;
    /* Open MPI's singletons start a daemon, for spawning only; this one needs none. All that have none share
     * one name for their folder of files (jf.0), which whoever ends first removes: they meet in no TMPDIR
     * (topology_spawn.c). */
    (void)setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
    if (MPI_Init(NULL, NULL) != MPI_SUCCESS) return CHILD_NO_INIT;
    (void)MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    device *d = device_cuda_create(0, &code);
    if (!d) return CHILD_NO_GPU;
    for (size_t i = 0; i < sizeof sizes_bytes / sizeof *sizes_bytes; i++) {
        const probe_result r = probe_exchange(d, MPI_COMM_SELF, 0, 0, sizes_bytes[i], EXCHANGE_LIMIT_S);
        if (r != PROBE_ARRIVED) return CHILD_FAILED + (int)r;
    }
    device_destroy(&d);
    return MPI_Finalize() == MPI_SUCCESS ? 0 : CHILD_FAILED + (int)PROBE_MPI_FAILED;
}

/* One child per host, by local rank 0; true elsewhere. */
static bool child_on_this_host(const topology *t, const char *exe, sentence *why)
{
    if (t->local_rank != 0) return true;
    const topology_spawn_end end = topology_spawn(exe, TOPOLOGY_PROBE_ARGUMENT, CHILD_LIMIT_S);
    sentence reason;
    switch (end.how) {
    case TOPOLOGY_SPAWN_EXITED:
        if (end.code == 0) return true;
        if (end.code == CHILD_NO_INIT)
            sentence_set(&reason, "could not start MPI");
        else if (end.code == CHILD_NO_GPU)
            sentence_set(&reason, "could not open GPU 0");
        else if (end.code > CHILD_FAILED && end.code <= CHILD_FAILED + (int)PROBE_WRONG_DATA)
            sentence_set(&reason, "sent device buffers to itself and found: %s",
                         probe_text((probe_result)(end.code - CHILD_FAILED)));
        else
            sentence_set(&reason, "ended with status %d while it sent device buffers to itself", end.code);
        break;
    case TOPOLOGY_SPAWN_KILLED:
        sentence_set(&reason, "crashed with signal %d (%s) while it sent device buffers to itself", end.code,
                     strsignal(end.code));
        break;
    case TOPOLOGY_SPAWN_TIMED_OUT:
        sentence_set(&reason, "did not finish within %d s", CHILD_LIMIT_S);
        break;
    case TOPOLOGY_SPAWN_FAILED:
        sentence_set(&reason, "could not be started: %s", strerror(end.code));
        break;
    }
    return sentence_refuse(why, "MPI claims to take device buffers, but a test process on %s %s", t->host,
                           reason.text);
}

/* Every rank to the next and from the one before; on a communicator of its own, so that a message that came
 * too late can never be taken for one of the program's. */
static bool ring(const topology *t, device *d, sentence *why)
{
    static const size_t sizes_bytes[RING_SIZES] = { 1 << 10, 4 << 20 };
    const int next = (t->rank + 1) % t->ranks, before = (t->rank + t->ranks - 1) % t->ranks;
    bool sound = true;
    MPI_Comm comm;
    MPI_CHECK(ranks_dup(t->comm, &comm));
    for (int i = 0; i < RING_SIZES && sound; i++) {
        const probe_result r = probe_exchange(d, comm, next, before, sizes_bytes[i], EXCHANGE_LIMIT_S);
        if (r != PROBE_ARRIVED)
            sentence_set(why, "device buffers of %zu bytes from rank %d to rank %d on %s through MPI: %s",
                         sizes_bytes[i], before, t->rank, t->host, probe_text(r));
        sound = topology_agree(t, r == PROBE_ARRIVED, why);
    }
    MPI_CHECK(MPI_Comm_free(&comm));
    return sound;
}

bool topology_probe_aware(const topology *t, device *d, const char *exe, sentence *why)
{
    why->text[0] = '\0';
    bool sound = d->kind == DEVICE_CUDA;
    if (!sound) sentence_set(why, "rank %d on %s computes on the host", t->rank, t->host);
    if (!topology_agree(t, sound, why)) return false;
    if (!t->mpi_claims_cuda)
        sentence_set(why, "this MPI does not claim to take device buffers (%s)", t->mpi_version);
    if (!topology_agree(t, t->mpi_claims_cuda, why)) return false;
    sound = child_on_this_host(t, exe, why);
    if (!topology_agree(t, sound, why)) return false;
    return ring(t, d, why);
}
