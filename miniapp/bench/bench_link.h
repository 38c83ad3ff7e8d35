/* The bare link under an exchange: the same bytes between the same ranks by the shortest way there is, with
 * nothing packed: copies straight into the others' memory where ranks reach it, else plain MPI messages from
 * device memory, else from the host's. */
#pragma once

#include "bench/bench_world.h"
#include "transports/transport.h"

enum { BENCH_LINK_MESSAGES_MAX = 8 };

/* to and from one rank; its message that answers has the tag `tag_back` */
typedef struct bench_link_message {
    int rank, tag, tag_back;
    bool send, receive;
    int64_t bytes;
} bench_link_message;

typedef struct bench_link bench_link;

typedef enum bench_link_kind {
    BENCH_LINK_SHORTEST,
    BENCH_LINK_MPI,    /* messages, whatever else there is */
    BENCH_LINK_HOST,   /* messages from pinned memory of the host */
    BENCH_LINK_COPIES, /* no message: what is sent from the device to the host, and at once as much from
                        * there to what is received */
} bench_link_kind;

/* Collective over comm, whose ranks `message` counts; the world's own ranks take part in choosing the way. */
bench_link *bench_link_create(const bench_world *world, device *d, device_stream *s, MPI_Comm comm,
                              bench_link_kind kind, const bench_link_message *message, int count);
void bench_link_destroy(bench_link **l);
/* WEFT_FAULT=slow_link:NUMBER means this one (fault.h). */
void bench_link_number(bench_link *l, int number);
/* All messages once; copies are enqueued on s, MPI messages are waited for. */
void bench_link_run(bench_link *l);
/* Fills what is sent from `first` on, and poisons what is received. */
void bench_link_fill(bench_link *l, uint64_t first);
/* Message i holds what a sender that filled from `first` sent as its message of place `theirs` (of copies:
 * this rank itself, place i). Collective over comm. */
bool bench_link_holds(bench_link *l, int i, uint64_t first, int theirs);
/* Fills, runs once, and looks: of one message, between `me` and `partner`, which fill from another byte each.
 * True where this rank receives nothing, too. Collective over comm. */
bool bench_link_verify(bench_link *l, int me, int partner);
const char *bench_link_way(const bench_link *l); /* "peer copy" */
/* Seconds of one run on the slowest rank of the world, over several batches. Collective over the world. */
timer_percentiles bench_link_times(bench_link *l);

/* topology_probe_aware, asked once. Collective over the world. */
bool bench_link_aware(const bench_world *world, device *d, const char **why);
/* The same for a rung of this transport, where it needs it; else c->missing is why not. */
bool bench_link_carries(ladder_case *c, transport_kind over);
