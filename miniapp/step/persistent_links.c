#include "step/step.h"

#include <stdlib.h>

#include "ranks/check.h"
#include "ranks/ranks.h"
#include "transports/peer.h"

struct persistent_links {
    device *d;   /* not owned */
    peer *peers; /* NULL: one rank, whose memory is its own */
    persistent_memory memory;
};

/* Tiles are cut alike if as many bytes are wanted for as many cells; so is what is to be waited for. */
static bool same_on_all(const field_shape *f, size_t bytes, MPI_Comm comm)
{
    int64_t most[3] = { (int64_t)bytes, f->nx, f->ny };
    MPI_CHECK(ranks_allreduce(most, 3, MPI_INT64_T, MPI_MAX, comm));
    return agree_all(most[0] == (int64_t)bytes && most[1] == f->nx && most[2] == f->ny, comm);
}

static void take_own(persistent_links *l, size_t bytes)
{
    device_stream *s;
    DEVICE_CALL(l->d, alloc, DEVICE_MEMORY_DEVICE, bytes, &l->memory.here);
    DEVICE_CALL(l->d, stream_create, false, &s);
    DEVICE_CALL(l->d, fill_bytes, l->memory.here, 0, bytes, s);
    DEVICE_CALL(l->d, stream_sync, s);
    DEVICE_CALL(l->d, stream_destroy, &s);
}

static bool map_theirs(persistent_links *l, const decomp *dec, size_t bytes, MPI_Comm comm, sentence *why)
{
    int rank[2], above = -1, below = -1, count = 0;
    void *theirs[2];
    for (int k = 0; k < DECOMP_NEIGHBOURS; k++) {
        if (decomp_dx[k] != 0 || dec->neighbour[k] < 0) continue;
        if (decomp_dy[k] < 0) above = count;
        if (decomp_dy[k] > 0) below = count;
        if (decomp_dy[k] != 0) rank[count++] = dec->neighbour[k];
    }
    l->peers = peer_create(l->d, rank, count, bytes, theirs, comm, why);
    if (!l->peers) return false;
    l->memory.here = peer_own(l->peers);
    if (above >= 0) l->memory.above = theirs[above];
    if (below >= 0) l->memory.below = theirs[below];
    return true;
}

persistent_links *persistent_links_create(const decomp *dec, device *d, const field_shape *shape,
                                          const boundary *sides, MPI_Comm comm, sentence *why)
{
    const bool cut = dec->ranks_y > 1;
    const size_t bytes = d->persistent_bytes(d, shape, sides, cut);
    if (dec->ranks_x > 1 || !same_on_all(shape, bytes, comm) || bytes == 0) {
        sentence_set(why, "the GPUs' registers do not hold the field, or hold different parts of it");
        return NULL;
    }
    persistent_links *l = CHECK_ALLOC(calloc(1, sizeof *l));
    l->d = d;
    if (!cut) take_own(l, bytes);
    else if (!map_theirs(l, dec, bytes, comm, why)) {
        free(l);
        return NULL;
    }
    return l;
}

void persistent_links_destroy(persistent_links **l)
{
    if (!l || !*l) return;
    device *d = (*l)->d;
    if ((*l)->peers) peer_destroy(&(*l)->peers);
    else DEVICE_CALL(d, free, DEVICE_MEMORY_DEVICE, (*l)->memory.here);
    free(*l);
    *l = NULL;
}

const persistent_memory *persistent_links_memory(const persistent_links *l) { return &l->memory; }
