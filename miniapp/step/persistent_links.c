#include "step/step.h"

#include <stdlib.h>

#include "ranks/check.h"
#include "ranks/ranks.h"
#include "transports/peer.h"

struct persistent_links {
    peer *peers;
    persistent_memory memory;
};

/* Tiles are cut alike if as many bytes are wanted for as many cells; so is what is to be waited for. */
static bool same_on_all(const field_shape *f, size_t bytes, MPI_Comm comm)
{
    int64_t most[3] = { (int64_t)bytes, f->nx, f->ny };
    MPI_CHECK(ranks_allreduce(most, 3, MPI_INT64_T, MPI_MAX, comm));
    return agree_all(most[0] == (int64_t)bytes && most[1] == f->nx && most[2] == f->ny, comm);
}

persistent_links *persistent_links_create(const decomp *dec, device *d, const field_shape *shape,
                                          const boundary *sides, MPI_Comm comm, sentence *why)
{
    const size_t bytes = d->persistent_bytes(d, shape, sides, dec->ranks_y > 1);
    int rank[2], above = -1, below = -1, count = 0;
    void *theirs[2];
    if (dec->ranks_x > 1 || !same_on_all(shape, bytes, comm) || bytes == 0) {
        sentence_set(why, "the GPUs' registers do not hold the field, or hold different parts of it");
        return NULL;
    }
    for (int k = 0; k < DECOMP_NEIGHBOURS && dec->ranks_y > 1; k++) {
        if (decomp_dx[k] != 0 || decomp_dy[k] == 0 || dec->neighbour[k] < 0) continue;
        if (decomp_dy[k] < 0) above = count;
        else below = count;
        rank[count++] = dec->neighbour[k];
    }
    persistent_links *l = CHECK_ALLOC(calloc(1, sizeof *l));
    l->peers = peer_create(d, rank, count, bytes, theirs, comm, why);
    if (!l->peers) {
        free(l);
        return NULL;
    }
    l->memory.here = peer_own(l->peers);
    if (above >= 0) l->memory.above = theirs[above];
    if (below >= 0) l->memory.below = theirs[below];
    return l;
}

void persistent_links_destroy(persistent_links **l)
{
    if (!l || !*l) return;
    peer_destroy(&(*l)->peers);
    free(*l);
    *l = NULL;
}

const persistent_memory *persistent_links_memory(const persistent_links *l) { return &l->memory; }
