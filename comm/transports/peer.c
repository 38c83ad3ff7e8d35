/* Handles are exchanged through comm, opened, and remembered for the end.
 *
 * Whether the driver lets this process open what another one exports (containers, device cgroups, GPUs
 * without a way to each other or not visible here) only trying tells, so a peer is its block: either all
 * ranks have mapped what they need, or none keeps any. Invariant: mapped[] holds each address that
 * handle_open returned once per opening, so that every count goes back to 0. */
#include "transports/peer.h"

#include <stdbool.h>
#include <stdlib.h>

#include "ranks/check.h"
#include "ranks/ranks.h"

struct peer {
    device *d; /* not owned */
    MPI_Comm comm;
    void *own;
    void **mapped; /* [openings] */
    int openings;
};

/* Says why not all neighbours run on this host. */
static void look_for_other_hosts(const peer *p, const int *ranks, int count, sentence *why)
{
    const int me = ranks_mine(p->comm);
    hosts *h = hosts_create(p->comm);
    for (int i = 0; i < count && !why->text[0]; i++)
        if (h->of[ranks[i]] != h->of[me])
            sentence_set(why, "rank %d and its neighbour %d run on different hosts", me, ranks[i]);
    hosts_destroy(&h);
}

/* The own block, all 0; why says that there is no memory for it. */
static void make_own(peer *p, size_t bytes, sentence *why)
{
    device *d = p->d;
    device_stream *s;
    if (bytes == 0) return;
    const int code = d->alloc(d, DEVICE_MEMORY_DEVICE, bytes, &p->own);
    if (code != 0) {
        p->own = NULL;
        sentence_set(why, "rank %d has no device memory to share: %s", ranks_mine(p->comm),
                     d->error_text(code));
        return;
    }
    DEVICE_CALL(d, stream_create, false, &s);
    DEVICE_CALL(d, fill_bytes, p->own, 0, bytes, s);
    DEVICE_CALL(d, stream_sync, s);
    DEVICE_CALL(d, stream_destroy, &s);
}

/* The offer of a rank: the handle, and whether there is one. Plain bytes, so that it travels as it is. */
typedef struct offer {
    device_handle handle;
    int code;           /* of handle_make */
    int there;          /* 0: nothing is shared by this rank */
} offer;

/* Opens ranks[i]'s block for every i; why says the first thing that failed. */
static void open_all(peer *p, const int *ranks, int count, void **theirs, sentence *why)
{
    device *d = p->d;
    const int me = ranks_mine(p->comm);
    offer own = { .there = p->own != NULL }, *offers = CHECK_CALLOC(ranks_count(p->comm), sizeof *offers);
    if (p->own) own.code = d->handle_make(d, p->own, &own.handle);
    MPI_CHECK(ranks_allgather(&own, sizeof own, offers, p->comm));
    p->mapped = CHECK_CALLOC(count, sizeof *p->mapped);
    for (int i = 0; i < count; i++) {
        const int other = ranks[i];
        int code = offers[other].code;
        theirs[i] = other == me ? p->own : NULL;
        if (other == me || !offers[other].there || why->text[0]) continue;
        if (code == 0) code = d->handle_open(d, &offers[other].handle, &theirs[i]);
        if (code == 0)
            p->mapped[p->openings++] = theirs[i];
        else
            sentence_set(why, "rank %d cannot map the device memory of rank %d: %s", me, other,
                         d->error_text(code));
    }
    free(offers);
}

peer *peer_create(device *d, const int *ranks, int count, size_t bytes, void **theirs, MPI_Comm comm,
                  sentence *why)
{
    peer *p = CHECK_CALLOC(1, sizeof *p);
    why->text[0] = '\0';
    p->d = d;
    MPI_CHECK(ranks_dup(comm, &p->comm));
    look_for_other_hosts(p, ranks, count, why);
    if (!why->text[0] && d->unshared)
        sentence_set(why, "rank %d shares no device memory: %s", ranks_mine(p->comm), d->unshared);
    bool reaches = agree_or_say(!why->text[0], why, p->comm);
    if (reaches) {
        make_own(p, bytes, why);
        open_all(p, ranks, count, theirs, why);
        reaches = agree_or_say(!why->text[0], why, p->comm);
    }
    if (!reaches) peer_destroy(&p);
    return p;
}

void *peer_own(const peer *p) { return p->own; }

void peer_destroy(peer **p)
{
    if (!p || !*p) return;
    device *d = (*p)->d;
    DEVICE_CHECK(d, d->synchronize(d));
    while ((*p)->openings > 0) DEVICE_CALL(d, handle_close, (*p)->mapped[--(*p)->openings]);
    MPI_CHECK(ranks_barrier((*p)->comm)); /* no rank maps the block any more */
    if ((*p)->own) DEVICE_CALL(d, free, DEVICE_MEMORY_DEVICE, (*p)->own);
    MPI_CHECK(ranks_free(&(*p)->comm));
    free((*p)->mapped);
    free(*p);
    *p = NULL;
}
