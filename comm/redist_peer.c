/* A call is a meeting of all ranks on the device (every source is complete), one kernel that reads the parts of the target
 * from their owners and turns them, and, unless the sources are incremented, a second meeting (every source has been read
 * and may change). With increments the kernel itself waits for the readers (kernels/transpose_peer_cuda.cu).
 *
 * Flags and counts lie on each rank's board, device memory laid out alike everywhere:
 *     a meeting flag of each rank, a line each | the count of meetings, a line | a line of band flags of each reader |
 *     counts of tiles, of each owner
 * Invariant: all ranks call with their counterparts of the same fields in the same order, so that all find their source in
 * the table of shared ones, or none does. */
#include "redist_peer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "peer.h"
#include "redist_plan.h"

/* A source that every rank has mapped. */
typedef struct shared_source {
    void *mine;
    void *theirs[DEVICE_RANKS_MAX]; /* by rank */
} shared_source;

struct redist_peer {
    decomp from, to;
    device *d; /* not owned */
    field_shape to_shape, from_shape[DEVICE_RANKS_MAX]; /* of every rank */
    int ranks;
    peer *reach; /* all ranks, in order */
    char *board;
    void *boards[DEVICE_RANKS_MAX]; /* everybody's, here */
    device_meeting meeting;
    shared_source *shared;
    int shared_count;
};

static int64_t flag_at(int rank) { return (int64_t)rank * FIELD_ALIGN_BYTES; }
static int64_t count_at(int ranks) { return flag_at(ranks); }
static int64_t read_at(int ranks, int reader)
{
    return count_at(ranks) + FIELD_ALIGN_BYTES + reader * DEVICE_BANDS * (int64_t)sizeof(uint64_t);
}
static int64_t tiles_at(int ranks, int owner)
{
    return read_at(ranks, ranks) + owner * DEVICE_BANDS * (int64_t)sizeof(uint32_t);
}

static void make_board(redist_peer *r)
{
    device *d = r->d;
    const size_t bytes = (size_t)tiles_at(r->ranks, r->ranks);
    device_stream *s;
    DEVICE_CHECK(d, d->alloc(d, DEVICE_MEMORY_DEVICE, bytes, (void **)&r->board));
    DEVICE_CHECK(d, d->stream_create(d, false, &s));
    DEVICE_CHECK(d, d->fill_bytes(d, r->board, 0, bytes, s));
    DEVICE_CHECK(d, d->stream_sync(d, s));
    DEVICE_CHECK(d, d->stream_destroy(d, &s));
    peer_share(r->reach, r->board, r->boards);
    r->meeting.ranks = r->ranks;
    r->meeting.count = (uint64_t *)(r->board + count_at(r->ranks));
    for (int i = 0; i < r->ranks; i++) {
        r->meeting.there[i] = (uint64_t *)((char *)r->boards[i] + flag_at(r->to.rank));
        r->meeting.here[i] = (const uint64_t *)(r->board + flag_at(i));
    }
}

redist_peer *redist_peer_create(const decomp *from, const decomp *to, device *d, const field_shape *from_shape,
                                const field_shape *to_shape, MPI_Comm comm, char *why, size_t why_bytes)
{
    int everybody[DEVICE_RANKS_MAX];
    const int ranks = to->ranks_x * to->ranks_y;
    if (ranks > DEVICE_RANKS_MAX) {
        (void)snprintf(why, why_bytes, "a transpose over peer memory takes at most %d ranks", DEVICE_RANKS_MAX);
        return NULL;
    }
    for (int i = 0; i < ranks; i++) everybody[i] = i;
    peer *reach = peer_create(d, everybody, ranks, comm, why, why_bytes);
    if (!reach) return NULL;
    redist_peer *r = calloc(1, sizeof *r);
    if (!r) check_fail(__FILE__, __LINE__, "calloc", "out of memory");
    r->from = *from;
    r->to = *to;
    r->d = d;
    r->to_shape = *to_shape;
    r->ranks = ranks;
    r->reach = reach;
    MPI_CHECK(MPI_Allgather(from_shape, sizeof *from_shape, MPI_BYTE, r->from_shape, sizeof *from_shape, MPI_BYTE, comm));
    make_board(r);
    return r;
}

void redist_peer_destroy(redist_peer **r)
{
    if (!r || !*r) return;
    device *d = (*r)->d;
    peer_destroy(&(*r)->reach);
    DEVICE_CHECK(d, d->free(d, DEVICE_MEMORY_DEVICE, (*r)->board));
    free((*r)->shared);
    free(*r);
    *r = NULL;
}

/* Where every rank's counterpart of this source is. */
static void *const *sources(redist_peer *r, void *mine)
{
    for (int i = 0; i < r->shared_count; i++)
        if (r->shared[i].mine == mine) return r->shared[i].theirs;
    r->shared = realloc(r->shared, (size_t)(r->shared_count + 1) * sizeof *r->shared);
    if (!r->shared) check_fail(__FILE__, __LINE__, "realloc", "out of memory");
    shared_source *new = &r->shared[r->shared_count++];
    new->mine = mine;
    peer_share(r->reach, mine, new->theirs);
    return new->theirs;
}

/* The cell of owner's source that lies, turned, at the corner of `cells` (the target's global coordinates). */
static void *source_cell(const redist_peer *r, void *source, int owner, box cells)
{
    const box own = decomp_box(&r->from, owner);
    return field_at(&r->from_shape[owner], source, cells.y0 - own.x0, cells.x0 - own.y0);
}

void redist_peer_transpose(redist_peer *r, void *target, void *source, int flags, device_stream *s)
{
    device *d = r->d;
    const int me = r->to.rank;
    const int64_t line_cells = FIELD_ALIGN_BYTES / (int64_t)dtype_bytes(r->to_shape.type);
    void *const *theirs = sources(r, source);
    device_part parts[DEVICE_RANKS_MAX];
    device_lent lent[DEVICE_RANKS_MAX];
    int parts_count = 0, lent_count = 0;
    for (int step = 0; step < r->ranks; step++) {
        const int other = (me + step) % r->ranks;
        const box in = redist_plan_box(&r->from, other, &r->to, me), out = redist_plan_box(&r->from, me, &r->to, other);
        if (!box_empty(in))
            parts[parts_count++] = (device_part){
                .from = source_cell(r, theirs[other], other, in),
                .to = field_at(&r->to_shape, target, in.x0 - r->to.own.x0, in.y0 - r->to.own.y0),
                .from_pitch = r->from_shape[other].pitch,
                .rows = box_width(in),
                .cols = box_height(in),
                .read = other == me ? NULL : (uint64_t *)((char *)r->boards[other] + read_at(r->ranks, me)),
                .tiles = (uint32_t *)(r->board + tiles_at(r->ranks, other)),
            };
        if (!box_empty(out) && other != me)
            lent[lent_count++] = (device_lent){
                .cells = source_cell(r, source, me, out),
                .rows = box_width(out),
                .cols = box_height(out),
                .rows_above = (int)((out.x0 - decomp_box(&r->to, other).x0) % line_cells),
                .read = (const uint64_t *)(r->board + read_at(r->ranks, other)),
            };
    }
    DEVICE_CHECK(d, d->ranks_meet(d, &r->meeting, s));
    DEVICE_CHECK(d, d->transpose_parts(d, r->to_shape.type, parts, parts_count, r->to_shape.pitch, lent, lent_count,
                                       r->from_shape[me].pitch, r->meeting.count, flags, s));
    if (!(flags & TRANSPOSE_INCREMENT_SOURCE)) DEVICE_CHECK(d, d->ranks_meet(d, &r->meeting, s));
}

int64_t redist_peer_sent_bytes(const redist_peer *r)
{
    int64_t cells = 0;
    for (int other = 0; other < r->ranks; other++)
        if (other != r->to.rank) cells += box_cells(redist_plan_box(&r->from, r->to.rank, &r->to, other));
    return cells * (int64_t)dtype_bytes(r->to_shape.type);
}
