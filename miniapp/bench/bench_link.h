/* Bytes between ranks with nothing packed. The bare link under an exchange is the shortest way there is:
 * copies straight into the others' memory where ranks reach it, else plain MPI messages from device memory,
 * else from the host's. By the ways of ladder_direct.h ranks also tell each other that the memory is free,
 * and when all has arrived, as a run has to. */
#pragma once

#include "bench/bench_world.h"
#include "ladder/ladder_direct.h"
#include "transports/message.h"

enum { BENCH_LINK_MESSAGES_MAX = LADDER_LINKS_MAX };

/* Ways of the bare link, behind the transports among a rung's ways. */
typedef enum bench_link_by {
    BENCH_LINK_SHORTEST,
    BENCH_LINK_ONEWAY,   /* the same, but the world's sender alone sends */
    BENCH_LINK_MESSAGES, /* MPI, whatever else there is */
    BENCH_LINK_ENGINE,   /* copy engines, a stream for each message */
    BENCH_LINK_BULK,     /* bulk stores of a few thread blocks */
    BENCH_LINK_NCCL,     /* stores into windows of NCCL's device API */
    BENCH_LINK_NVSHMEM   /* puts with a signal, by NVSHMEM on the stream */
} bench_link_by;
#define BENCH_LINK(BY) (TRANSPORT_KINDS + (int)BENCH_LINK_##BY)

/* A family's `refusal`: of one that sends its cells by transports and these ways. */
const char *bench_link_refusal(const ladder_rung *r, device_kind kind, int ranks);

/* The functions of a rung of such a way. prepare is collective over comm, whose ranks `message` counts, and
 * which are neighbours in the world too; the world's own ranks take part in choosing the way. Messages go to
 * and come from one rank: number i of n, whose tag is i, answers the rank's number n - 1 - i, which has as
 * many bytes. Their places in the buffers follow from that. Cells that are sent are filled, those that are
 * received poisoned, on all ranks; c->missing is set, on all ranks of the world, where the last four ways do
 * not reach all others' memory. enqueue: all messages once; copies and kernels are enqueued on the case's
 * stream, MPI messages are waited for. */
int bench_link_prepare(ladder_case *c, MPI_Comm comm, const message_part *message, int count);
int bench_link_enqueue(ladder_case *c);
int bench_link_verify(ladder_case *c, ladder_verdict *v);
void bench_link_destroy(ladder_case *c);
/* Part of a rung's row. PREPARE ends with bench_link_prepare. */
#define BENCH_LINK_FUNCTIONS(PREPARE)                                               \
    .prepare = PREPARE, .enqueue = bench_link_enqueue, .verify = bench_link_verify, \
    .destroy = bench_link_destroy, .clock = LADDER_CLOCK_HOST

/* NULL: MPI takes device memory; else why it does not. Asked once; collective over the world. */
const char *bench_link_unaware(const bench_world *world, device *d);
/* The same for a rung of this transport, where it needs it; else c->missing is why not. */
bool bench_link_carries(ladder_case *c);
