/* Bytes between ranks with nothing packed. The bare link under an exchange is the shortest way there is:
 * copies straight into the others' memory where ranks reach it, else plain MPI messages from device memory,
 * else from the host's. By the ways of ladder_direct.h ranks also tell each other that the memory is free,
 * and when all has arrived, as a run has to. */
#pragma once

#include "bench/bench_world.h"
#include "transports/transport.h"

enum { BENCH_LINK_MESSAGES_MAX = 8 };

/* To and from one rank. Number i of n answers the rank's number n - 1 - i, which has as many bytes: all ranks
 * have as many messages, whose numbers are their tags. */
typedef struct bench_link_message {
    int rank;
    int64_t bytes;
} bench_link_message;

typedef enum bench_link_by {
    BENCH_LINK_SHORTEST,
    BENCH_LINK_ONEWAY,   /* the same, but the world's sender alone sends */
    BENCH_LINK_MESSAGES, /* MPI, whatever else there is */
    BENCH_LINK_ENGINE,   /* copy engines, a stream for each message */
    BENCH_LINK_BULK,     /* bulk stores of a few thread blocks */
    BENCH_LINK_NCCL,     /* stores into windows of NCCL's device API */
    BENCH_LINK_NVSHMEM   /* puts with a signal, by NVSHMEM on the stream */
} bench_link_by;

typedef struct bench_link bench_link;

/* Collective over comm, whose ranks `message` counts, and which are neighbours in the world too; the world's
 * own ranks take part in choosing the way.
 * Cells that are sent are filled, those that are received poisoned, on all ranks. NULL on all ranks of the
 * world, with the reason as a sentence part, where the last four do not reach all others' memory. */
bench_link *bench_link_create(const bench_world *world, device *d, device_stream *s, MPI_Comm comm,
                              bench_link_by by, const bench_link_message *message, int count, sentence *why);
void bench_link_destroy(bench_link **l);
/* All messages once; copies and kernels are enqueued on s, MPI messages are waited for. */
void bench_link_run(bench_link *l);
/* After a run: the first message that is not what its sender filled in; -1: there is none. Collective over
 * comm. */
int bench_link_wrong(bench_link *l);
const char *bench_link_way(const bench_link *l); /* "peer copy" */

/* NULL: MPI takes device memory; else why it does not. Asked once; collective over the world. */
const char *bench_link_unaware(const bench_world *world, device *d);
/* The same for a rung of this transport, where it needs it; else c->missing is why not. */
bool bench_link_carries(ladder_case *c);
