/* Handles are exchanged through comm, opened, and remembered for the end.
 *
 * Whether the driver lets this process open what another one exports (containers, device cgroups, GPUs
 * without a way to each other or not visible here) only trying tells, so peer_create shares a small
 * allocation first and compares what it reads. Invariant: mapped[] holds each address that handle_open
 * returned once per opening, so that every count goes back to 0. */
#include "transports/peer.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/check.h"
#include "ranks/ranks.h"

struct peer {
    device *d; /* not owned */
    MPI_Comm comm;
    int me, all;
    int *ranks; /* [count] */
    int count;
    void **mapped; /* [openings] */
    int openings;
    void **shared_block; /* [shared_blocks] */
    int shared_blocks;
};

enum { PROBE_BYTES = 256 };

/* Says why not all neighbours run on this host. */
static void look_for_other_hosts(const peer *p, sentence *why)
{
    hosts *h = hosts_create(p->comm);
    for (int i = 0; i < p->count && !why->text[0]; i++)
        if (h->of[p->ranks[i]] != h->of[p->me])
            sentence_set(why, "rank %d and its neighbour %d run on different hosts", p->me, p->ranks[i]);
    hosts_destroy(&h);
}

/* The offer of a rank: the handle, and whether there is one. Plain bytes, so that it travels as it is. */
typedef struct offer {
    device_handle handle;
    int code;           /* of handle_make */
    int there;          /* 0: nothing is shared by this rank */
} offer;

/* Opens ranks[i]'s allocation for every i; why says the first thing that failed. */
static void open_all(peer *p, void *mine, void **theirs, sentence *why)
{
    device *d = p->d;
    offer own = { .there = mine != NULL }, *offers = CHECK_CALLOC(p->all, sizeof *offers);
    if (mine) own.code = d->handle_make(d, mine, &own.handle);
    MPI_CHECK(ranks_allgather(&own, sizeof own, offers, p->comm));
    p->mapped = CHECK_ALLOC(realloc(p->mapped, (size_t)(p->openings + p->count + 1) * sizeof *p->mapped));
    for (int i = 0; i < p->count; i++) {
        const int other = p->ranks[i];
        int code = offers[other].code;
        theirs[i] = NULL;
        if (other == p->me) theirs[i] = mine;
        if (other == p->me || !offers[other].there || why->text[0]) continue;
        if (code == 0) code = d->handle_open(d, &offers[other].handle, &theirs[i]);
        if (code == 0)
            p->mapped[p->openings++] = theirs[i];
        else
            sentence_set(why, "rank %d cannot map the device memory of rank %d: %s", p->me, other,
                         d->error_text(code));
    }
    free(offers);
}

/* The byte that stands in all of rank's probe. */
static int probe_byte(int rank) { return 1 + rank % 251; }

/* Memory to share, each byte that one; NULL with the code where it cannot be had. */
static void *filled(const peer *p, size_t bytes, int byte, int *code)
{
    device *d = p->d;
    device_stream *s;
    void *memory = NULL;
    *code = d->alloc(d, DEVICE_MEMORY_DEVICE, bytes, &memory);
    if (*code != 0) return NULL;
    DEVICE_CALL(d, stream_create, false, &s);
    DEVICE_CALL(d, fill_bytes, memory, byte, bytes, s);
    DEVICE_CALL(d, stream_sync, s);
    DEVICE_CALL(d, stream_destroy, &s);
    return memory;
}

/* Reads every neighbour's probe and compares. */
static void read_probes(peer *p, void *const *probes, sentence *why)
{
    device *d = p->d;
    device_stream *s;
    unsigned char *seen;
    DEVICE_CALL(d, stream_create, false, &s);
    DEVICE_CALL(d, alloc, DEVICE_MEMORY_PINNED, PROBE_BYTES, (void **)&seen);
    for (int i = 0; i < p->count && !why->text[0]; i++) {
        bool right = true;
        int code = d->copy(d, seen, probes[i], PROBE_BYTES, s);
        if (code == 0) code = d->stream_sync(d, s);
        for (int b = 0; b < PROBE_BYTES; b++) right = right && seen[b] == probe_byte(p->ranks[i]);
        if (code != 0 || !right)
            sentence_set(why, "rank %d reads the device memory of rank %d wrongly%s%s", p->me, p->ranks[i],
                         code ? ": " : "", code ? d->error_text(code) : "");
    }
    DEVICE_CALL(d, free, DEVICE_MEMORY_PINNED, seen);
    DEVICE_CALL(d, stream_destroy, &s);
}

/* Closes all that was opened. All ranks must have finished with it. */
static void close_all(peer *p)
{
    while (p->openings > 0) DEVICE_CALL(p->d, handle_close, p->mapped[--p->openings]);
    MPI_CHECK(ranks_barrier(p->comm));
}

/* Does every rank read its neighbours' memory? */
static bool probe(peer *p, sentence *why)
{
    int code;
    void *const mine = filled(p, PROBE_BYTES, probe_byte(p->me), &code),
                **theirs = CHECK_CALLOC(p->count, sizeof *theirs);
    if (!mine) sentence_set(why, "rank %d has no device memory to share: %s", p->me, p->d->error_text(code));
    open_all(p, mine, theirs, why);
    bool works = agree_or_say(!why->text[0], why, p->comm);
    if (works) {
        read_probes(p, theirs, why);
        works = agree_or_say(!why->text[0], why, p->comm);
    }
    close_all(p);
    if (mine) DEVICE_CALL(p->d, free, DEVICE_MEMORY_DEVICE, mine);
    free(theirs);
    return works;
}

static void discard(peer **p)
{
    device *d = (*p)->d;
    for (int i = 0; i < (*p)->shared_blocks; i++)
        DEVICE_CALL(d, free, DEVICE_MEMORY_DEVICE, (*p)->shared_block[i]);
    MPI_CHECK(ranks_free(&(*p)->comm));
    free((*p)->shared_block);
    free((*p)->mapped);
    free((*p)->ranks);
    free(*p);
    *p = NULL;
}

static bool reaches(peer *p, sentence *why)
{
    look_for_other_hosts(p, why);
    if (!why->text[0] && p->d->unshared)
        sentence_set(why, "rank %d shares no device memory: %s", p->me, p->d->unshared);
    return agree_or_say(!why->text[0], why, p->comm) && probe(p, why);
}

peer *peer_create(device *d, const int *ranks, int count, MPI_Comm comm, sentence *why)
{
    peer *p = CHECK_CALLOC(1, sizeof *p);
    why->text[0] = '\0';
    MPI_CHECK(ranks_dup(comm, &p->comm));
    p->me = ranks_mine(p->comm);
    p->all = ranks_count(p->comm);
    p->d = d;
    p->count = count;
    p->ranks = CHECK_CALLOC(count, sizeof *p->ranks);
    memcpy(p->ranks, ranks, (size_t)count * sizeof *ranks);
    if (!reaches(p, why)) discard(&p);
    return p;
}

void *peer_shared_block(peer *p, size_t bytes, void **theirs)
{
    int code = 0;
    sentence why = { "" };
    void *const mine = bytes > 0 ? filled(p, bytes, 0, &code) : NULL;
    DEVICE_CHECK_AS(p->d, code, "alloc of memory that neighbours map");
    if (mine) {
        p->shared_block =
            CHECK_ALLOC(realloc(p->shared_block, (size_t)(p->shared_blocks + 1) * sizeof *p->shared_block));
        p->shared_block[p->shared_blocks++] = mine;
    }
    open_all(p, mine, theirs, &why);
    if (why.text[0]) check_fail(__FILE__, __LINE__, "peer_shared_block", why.text);
    return mine;
}

void peer_destroy(peer **p)
{
    if (!p || !*p) return;
    DEVICE_CHECK((*p)->d, (*p)->d->synchronize((*p)->d));
    close_all(*p);
    discard(p);
}
