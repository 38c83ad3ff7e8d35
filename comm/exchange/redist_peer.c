/* Every rank gives the parts of its source to their owners through rings in the owners' memory and takes what
 * comes through its own (kernels/transpose/transpose_peer.h): one kernel per call, no global barrier, nothing
 * of the fields mapped anywhere else. Rings hold as much as links have under way, a fixed amount whatever the
 * size of the fields: what it costs beside messages, which buffer all, is little.
 *
 * Invariant: all ranks make the same calls in the same order; calls are counted, and flags hold numbers that
 * only rise. */
#include "exchange/redist.h"

#include <assert.h>
#include <stdlib.h>

#include "ranks/check.h"
#include "transports/peer.h"
#include "transpose/transpose_peer.h"

int64_t redist_peer_rings_bytes = (int64_t)48 << 20;

struct redist_peer {
    redist_ends of;
    peer *reach;         /* all ranks, in order */
    transpose_call call; /* all but fields and number */
};

/* The part of rank `target`'s target that rank `source` holds. */
static transpose_part part_of(const redist_peer *r, int source, int target)
{
    const box in = redist_plan_box(&r->of.from, source, &r->of.to, target);
    const box from = decomp_box(&r->of.from, source), to = decomp_box(&r->of.to, target);
    const int64_t line_cells = FIELD_ALIGN_BYTES / (int64_t)dtype_bytes(r->of.to_shape.type);
    if (box_empty(in)) return (transpose_part){ 0 };
    return (transpose_part){ box_width(in), box_height(in), (int)((in.x0 - to.x0) % line_cells),
                             (int)((in.y0 - from.x0) % line_cells) };
}

/* The same on all ranks. Half a ring is what the lag allows for chunks to arrive, the other half for slots to
 * come free: with three quarters and one a transpose of f32 took 726 us of 597. */
static transpose_layout layout_of(const redist_peer *r, int ranks)
{
    const int cell_bytes = (int)dtype_bytes(r->of.to_shape.type);
    int64_t slots = redist_peer_rings_bytes / (ranks - 1) / TRANSPOSE_CHUNK_BYTES, most = 1;
    if (slots < 2) slots = 2;
    for (int i = 0; i < ranks * ranks; i++) {
        const transpose_part p = part_of(r, i / ranks, i % ranks);
        const int64_t chunks = i / ranks == i % ranks ? 0 : transpose_chunks(&p, cell_bytes);
        if (chunks > most) most = chunks;
    }
    if (slots > most) slots = most;
    return (transpose_layout){
        .ranks = ranks, .me = r->of.to.rank, .slots = (int)slots, .lag = slots > 1 ? (int)slots / 2 : 1
    };
}

/* theirs: the blocks of all ranks. */
static void make_pairs(redist_peer *r, void *const *theirs)
{
    transpose_call *c = &r->call;
    c->shared_block = peer_own(r->reach);
    for (int step = 1; step < c->layout.ranks; step++) {
        const int other = (c->layout.me + step) % c->layout.ranks;
        c->pair[c->pairs++] = (transpose_pair){ .other = other,
                                                .shared_block = theirs[other],
                                                .out = part_of(r, c->layout.me, other),
                                                .in = part_of(r, other, c->layout.me) };
    }
}

redist_peer *redist_peer_create(const redist_ends *ends, MPI_Comm comm, sentence *why)
{
    int all_ranks[TRANSPOSE_RANKS_MAX];
    void *theirs[TRANSPOSE_RANKS_MAX];
    const int ranks = ends->to.ranks_x * ends->to.ranks_y, me = ends->to.rank;
    if (ranks > TRANSPOSE_RANKS_MAX) {
        sentence_set(why, "a transpose over peer memory takes at most %d ranks", TRANSPOSE_RANKS_MAX);
        return NULL;
    }
    for (int i = 0; i < ranks; i++) all_ranks[i] = i;
    redist_peer *r = CHECK_CALLOC(1, sizeof *r);
    r->of = *ends;
    r->call = (transpose_call){ .layout = layout_of(r, ranks),
                                .own = part_of(r, me, me),
                                .from_pitch = ends->from_shape.pitch,
                                .to_pitch = ends->to_shape.pitch };
    const size_t block_bytes = (size_t)transpose_layout_bytes(&r->call.layout);
    r->reach = peer_create(ends->d, all_ranks, ranks, block_bytes, theirs, comm, why);
    if (r->reach) make_pairs(r, theirs);
    else redist_peer_destroy(&r);
    return r;
}

void redist_peer_destroy(redist_peer **r)
{
    if (!r || !*r) return;
    peer_destroy(&(*r)->reach);
    free(*r);
    *r = NULL;
}

void redist_peer_transpose(redist_peer *r, void *target, void *source, int flags, device_stream *s)
{
    const redist_ends *of = &r->of;
    const int me = of->to.rank;
    transpose_call *c = &r->call;
    const box own = redist_plan_box(&of->from, me, &of->to, me);
    c->from = redist_source_at(of, source, own);
    c->to = redist_target_at(of, target, own);
    for (int i = 0; i < c->pairs; i++) {
        transpose_pair *p = &c->pair[i];
        p->from = redist_source_at(of, source, redist_plan_box(&of->from, me, &of->to, p->other));
        p->to = redist_target_at(of, target, redist_plan_box(&of->from, p->other, &of->to, me));
    }
    DEVICE_CALL(of->d, transpose_parts, of->to_shape.type, c, flags, s);
    c->number++;
}

int64_t redist_peer_sent_bytes(const redist_peer *r)
{
    int64_t cells = 0;
    for (int i = 0; i < r->call.pairs; i++) cells += r->call.pair[i].out.rows * r->call.pair[i].out.cols;
    return cells * (int64_t)dtype_bytes(r->of.to_shape.type);
}
