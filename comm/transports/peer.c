/* Handles are exchanged through comm, opened, and remembered for the end.
 *
 * Whether the driver lets this process open what another one exports (containers, device cgroups, GPUs
 * without a way to each other or not visible here), and whether what is read there is what was written
 * (IOMMUs, virtual machines), only trying tells, so a peer is its block: either all ranks have mapped and
 * read what they need, or none keeps any. Invariant: mapped[] holds each address that handle_open returned
 * once per opening, so that every count goes back to 0. */
#include "transports/peer.h"

#include <stdbool.h>
#include <stdlib.h>

#include "ranks/check.h"
#include "ranks/ranks.h"

struct peer {
    device *d; /* not owned */
    device_stream *s;
    MPI_Comm comm;
    void *own;
    size_t bytes;  /* of it */
    void **mapped; /* [openings] */
    int openings;
};

/* Says why not all neighbours run on this host. */
static void look_for_other_hosts(const peer *p, const int *ranks, int count, sentence *why)
{
    const int me = ranks_mine(p->comm);
    hosts *h = hosts_create(p->comm);
    for (int i = 0; i < count && !why->text[0]; i++)
        if (ranks[i] >= 0 && h->of[ranks[i]] != h->of[me])
            sentence_set(why, "rank %d and its neighbour %d run on different hosts", me, ranks[i]);
    hosts_destroy(&h);
}

/* A block is full of its rank's byte until its neighbours have read the first ones. */
enum { PROBE_BYTES = 256 };
static int probe_byte(int rank) { return 1 + rank % 251; }

static void fill_own(peer *p, int byte)
{
    device *d = p->d;
    if (!p->own) return;
    DEVICE_CALL(d, fill_bytes, p->own, byte, p->bytes, p->s);
    DEVICE_CALL(d, stream_sync, p->s);
}

/* why says that there is no memory for the own block. */
static void make_own(peer *p, size_t bytes, sentence *why)
{
    device *d = p->d;
    const int me = ranks_mine(p->comm);
    if (bytes == 0) return;
    p->bytes = bytes < PROBE_BYTES ? PROBE_BYTES : bytes;
    const int code = d->alloc(d, DEVICE_MEMORY_DEVICE, p->bytes, &p->own);
    if (code != 0) p->own = NULL;
    if (code != 0) sentence_set(why, "rank %d has no device memory to share: %s", me, d->error_text(code));
    fill_own(p, probe_byte(me));
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
    if (p->own && count > 0) own.code = d->handle_make(d, p->own, &own.handle);
    MPI_CHECK(ranks_allgather(&own, sizeof own, offers, p->comm));
    p->mapped = CHECK_CALLOC(count, sizeof *p->mapped);
    for (int i = 0; i < count; i++) {
        const int other = ranks[i];
        theirs[i] = other == me ? p->own : NULL;
        if (other < 0 || other == me || !offers[other].there || why->text[0]) continue;
        int code = offers[other].code;
        if (code == 0) code = d->handle_open(d, &offers[other].handle, &theirs[i]);
        if (code == 0)
            p->mapped[p->openings++] = theirs[i];
        else
            sentence_set(why, "rank %d cannot map the device memory of rank %d: %s", me, other,
                         d->error_text(code));
    }
    free(offers);
}

/* Reads what every neighbour's block begins with, and clears the own one once all ranks have. */
static bool read_probes(peer *p, const int *ranks, int count, void *const *theirs, sentence *why)
{
    device *d = p->d;
    unsigned char *seen;
    DEVICE_CALL(d, alloc, DEVICE_MEMORY_PINNED, PROBE_BYTES, (void **)&seen);
    for (int i = 0; i < count && !why->text[0]; i++) {
        if (!theirs[i] || theirs[i] == p->own) continue;
        bool right = true;
        int code = d->copy(d, seen, theirs[i], PROBE_BYTES, p->s);
        if (code == 0) code = d->stream_sync(d, p->s);
        for (int b = 0; b < PROBE_BYTES; b++) right = right && seen[b] == probe_byte(ranks[i]);
        if (code != 0 || !right)
            sentence_set(why, "rank %d reads the device memory of rank %d wrongly%s%s", ranks_mine(p->comm),
                         ranks[i], code ? ": " : "", code ? d->error_text(code) : "");
    }
    DEVICE_CALL(d, free, DEVICE_MEMORY_PINNED, seen);
    const bool right = agree_or_say(!why->text[0], why, p->comm);
    fill_own(p, 0);
    MPI_CHECK(ranks_barrier(p->comm)); /* no rank stores into a block that is cleared later */
    return right;
}

peer *peer_create(device *d, const int *ranks, int count, size_t bytes, void **theirs, MPI_Comm comm,
                  sentence *why)
{
    peer *p = CHECK_CALLOC(1, sizeof *p);
    why->text[0] = '\0';
    p->d = d;
    DEVICE_CALL(d, stream_create, false, &p->s);
    MPI_CHECK(ranks_dup(comm, &p->comm));
    look_for_other_hosts(p, ranks, count, why);
    if (!why->text[0] && count > 0 && d->unshared)
        sentence_set(why, "rank %d shares no device memory: %s", ranks_mine(p->comm), d->unshared);
    bool reaches = agree_or_say(!why->text[0], why, p->comm);
    if (reaches) {
        make_own(p, bytes, why);
        open_all(p, ranks, count, theirs, why);
        reaches = agree_or_say(!why->text[0], why, p->comm) && read_probes(p, ranks, count, theirs, why);
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
    DEVICE_CALL(d, stream_destroy, &(*p)->s);
    MPI_CHECK(ranks_free(&(*p)->comm));
    free((*p)->mapped);
    free(*p);
    *p = NULL;
}
