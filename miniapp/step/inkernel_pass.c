/* Flag words hold the epoch, which counts levels modulo INKERNEL_EPOCHS: the same on all ranks, because all
 * take the same steps. A start waits until every kernel of every rank has ended and empties all inboxes, so
 * that no word of an earlier run of steps is taken for one of a later; then the words of the present level
 * are sent, with the epoch that fits the fields' parity. */
#include "step/step.h"

#include <assert.h>
#include <stdlib.h>

#include "exchange/inkernel_plan.h"
#include "ranks/check.h"
#include "ranks/ranks.h"
#include "transports/peer.h"

struct inkernel_pass {
    const step_setup *of;    /* in the step_pass, which owns this too */
    peer *peers;             /* NULL: no neighbours */
    size_t inbox_bytes;      /* of a level's ghosts (inkernel_plan.h), of the rank that needs most, as the
                              * second one lies behind the first */
    inkernel_step linked[2]; /* [i] writes of->field[i] */
    int epoch;               /* of the present level; its parity says which field the next step writes */
    uint64_t *change;        /* [slots][INKERNEL_PASS_NORMS_MAX] norms, each cleared by the step before its
                              * own; NULL: none */
    uint64_t *change_host;   /* [INKERNEL_PASS_SLOTS] norms, pinned: each run's last */
    device_stream *aside;    /* brings them, beside the next step */
    device_event *taken, *copied[INKERNEL_PASS_SLOTS];
    int slot; /* of the next run of norms */
};

static void make_changes(inkernel_pass *p)
{
    device *d = p->of->dev;
    const size_t host_bytes = INKERNEL_PASS_SLOTS * INKERNEL_NORM_BYTES,
                 bytes = host_bytes * INKERNEL_PASS_NORMS_MAX;
    DEVICE_CALL(d, stream_create, true, &p->aside);
    DEVICE_CALL(d, event_create, false, &p->taken);
    for (int i = 0; i < INKERNEL_PASS_SLOTS; i++) DEVICE_CALL(d, event_create, false, &p->copied[i]);
    DEVICE_CALL(d, alloc, DEVICE_MEMORY_PINNED, host_bytes, (void **)&p->change_host);
    DEVICE_CALL(d, alloc, DEVICE_MEMORY_DEVICE, bytes, (void **)&p->change);
    DEVICE_CALL(d, fill_bytes, p->change, 0, bytes, p->aside);
    DEVICE_CALL(d, stream_sync, p->aside);
}

/* Two inboxes, for even and odd levels, in memory that the neighbours map, and theirs. For several ranks;
 * collective. False on all of them, with the reason, where a rank cannot reach a neighbour. */
static bool make_inboxes(inkernel_pass *p, inkernel_level level[2], sentence *why)
{
    const step_setup *of = p->of;
    int rank[DECOMP_NEIGHBOURS];
    void *theirs[DECOMP_NEIGHBOURS];
    int64_t bytes = (int64_t)inkernel_plan_inbox_bytes(of->shape, of->op->radius);
    MPI_CHECK(ranks_allreduce(&bytes, 1, MPI_INT64_T, MPI_MAX, of->comm));
    p->inbox_bytes = ((size_t)bytes + 255) & ~(size_t)255; /* as cudaMalloc aligns what it gives */
    for (int k = 0; k < DECOMP_NEIGHBOURS; k++)
        rank[k] = decomp_is_corner(k) && of->op->form != STENCIL_BOX ? -1 : of->dec->neighbour[k];
    p->peers = peer_create(of->dev, rank, DECOMP_NEIGHBOURS, 2 * p->inbox_bytes, theirs, of->comm, why);
    for (int i = 0; i < 2 && p->peers; i++) {
        level[i].inbox = (char *)peer_own(p->peers) + (size_t)i * p->inbox_bytes;
        for (int k = 0; k < DECOMP_NEIGHBOURS; k++)
            if (theirs[k]) level[i].theirs[k] = (char *)theirs[k] + (size_t)i * p->inbox_bytes;
    }
    return p->peers != NULL;
}

bool inkernel_pass_create(step_pass *pass, sentence *why)
{
    const step_setup *of = &pass->of;
    const field_shape *f = of->shape;
    inkernel_level level[2] = { { .field = of->field[0].u }, { .field = of->field[1].u } };
    if (pass->inkernel) return true;
    assert(of->dev->stencil_inkernel_can(of->dev, false));
    inkernel_pass *p = pass->inkernel = CHECK_ALLOC(calloc(1, sizeof *p));
    p->of = of;
    const bool ok = ranks_count(of->comm) == 1 || make_inboxes(p, level, why);
    if (ok && of->dev->stencil_inkernel_can(of->dev, true)) make_changes(p);
    for (int i = 0; i < 2 && ok; i++)
        inkernel_plan_make(&p->linked[i], of->dec, f, &pass->sides, of->op->radius,
                           of->op->form == STENCIL_BOX, &level[1 - i], &level[i]);
    if (!ok) inkernel_pass_destroy(&pass->inkernel);
    return ok;
}

void inkernel_pass_destroy(inkernel_pass **pass)
{
    inkernel_pass *p = *pass;
    if (!p) return;
    device *d = p->of->dev;
    peer_destroy(&p->peers);
    if (p->change) {
        DEVICE_CALL(d, stream_sync, p->aside);
        DEVICE_CALL(d, stream_destroy, &p->aside);
        DEVICE_CALL(d, event_destroy, &p->taken);
        for (int i = 0; i < INKERNEL_PASS_SLOTS; i++) DEVICE_CALL(d, event_destroy, &p->copied[i]);
        DEVICE_CALL(d, free, DEVICE_MEMORY_PINNED, p->change_host);
        DEVICE_CALL(d, free, DEVICE_MEMORY_DEVICE, p->change);
    }
    free(p);
    *pass = NULL;
}

/* ---- steps that are enqueued together ---- */

/* All ghosts of cur, and in next those that stay as they are; then its words, in inboxes that are empty. */
static void start(step_streams *s, step_pass *pass, void *next, void *cur)
{
    inkernel_pass *p = pass->inkernel;
    device *d = s->dev;
    void *const both[] = { cur, next };
    DEVICE_CALL(d, event_wait, s->level, s->comm);
    halo_exchange(pass->halo, cur, s->comm);
    for (int i = 0; i < 2; i++)
        DEVICE_CALL(d, boundary_fill, p->of->shape, both[i], &pass->sides, pass->ghosts, pass->ghosts_count,
                    s->comm);
    pass->images_generation = s->generation;
    p->epoch = next == p->of->field[1].u;
    DEVICE_CALL(d, stream_sync, s->comm); /* the ghosts are there: steps go to another stream */
    if (!p->peers) return;
    MPI_CHECK(ranks_barrier(p->of->comm)); /* no rank's kernels run: none stores words */
    DEVICE_CALL(d, fill_bytes, peer_own(p->peers), 0xff, 2 * p->inbox_bytes, s->comm);
    DEVICE_CALL(d, stream_sync, s->comm);
    MPI_CHECK(ranks_barrier(p->of->comm));
    inkernel_step present = p->linked[1 - p->epoch];
    present.epoch = (uint64_t)p->epoch;
    DEVICE_CALL(d, inkernel_flag_words, p->of->shape, cur, &present, s->comm);
    DEVICE_CALL(d, stream_sync, s->comm);
}

bool step_can_change(const step_pass *p) { return step_in_kernel(p) && p->inkernel->change; }

void step_ready(step_streams *s, step_pass *pass, step_job *j)
{
    inkernel_pass *p = pass->inkernel;
    if (!step_in_kernel(pass)) return;
    if (!j->exchange) pass->images_generation = UINT64_MAX; /* the neighbours know nothing of these steps */
    else if (pass->images_generation != s->generation) start(s, pass, j->next.u, j->cur.u);
    j->epoch = j->exchange ? p->epoch : j->next.u == p->of->field[1].u;
    assert(p->of->field[j->epoch % 2].u == j->next.u);
    j->rides = (inkernel_pass_norm){ p->slot, 0, j->norm != NULL };
}

enum { NORM = INKERNEL_NORM_BYTES / (int)sizeof(uint64_t) };

static uint64_t *norm_at(const inkernel_pass *p, int slot, int number)
{
    assert(number < INKERNEL_PASS_NORMS_MAX);
    return p->change + (slot * INKERNEL_PASS_NORMS_MAX + number) * NORM;
}

void inkernel_pass_step(const step_pass *pass, const step_job *j, device_stream *s)
{
    const inkernel_pass *p = pass->inkernel;
    device *d = p->of->dev;
    const step_levels *const field = p->of->field;
    const box own = field_own(p->of->shape);
    const int i = j->epoch % 2;
    const stencil_levels levels = { field[i].u, field[1 - i].u, j->cur.prev };
    const inkernel_pass_norm norm = j->rides;
    inkernel_step step = j->exchange ? p->linked[i] : pass->images[i];
    step.epoch = (uint64_t)j->epoch;
    if (norm.of > 0) {
        const int slot = norm.number + 1 < norm.of ? norm.slot : (norm.slot + 1) % INKERNEL_PASS_SLOTS;
        step.change = norm_at(p, norm.slot, norm.number);
        step.clear = norm_at(p, slot, slot == norm.slot ? norm.number + 1 : 0);
    }
    DEVICE_CALL(d, stencil_pass, p->of->shape, levels, &own, 1, &step, s);
}

void step_taken(step_streams *s, step_pass *pass, const step_job *j, int64_t steps)
{
    inkernel_pass *p = pass->inkernel;
    device *d = s->dev;
    if (!step_in_kernel(pass)) return;
    if (j->exchange) p->epoch = (int)((p->epoch + steps) % INKERNEL_EPOCHS);
    if (j->rides.of == 0) return;
    const int slot = p->slot;
    DEVICE_CALL(d, event_record, p->taken, s->stream[0]);
    DEVICE_CALL(d, event_wait, p->taken, p->aside);
    DEVICE_CALL(d, copy, p->change_host + slot * NORM, norm_at(p, slot, j->rides.of - 1), INKERNEL_NORM_BYTES,
                p->aside);
    DEVICE_CALL(d, event_record, p->copied[slot], p->aside);
    p->slot = (slot + 1) % INKERNEL_PASS_SLOTS;
}

uint64_t inkernel_pass_change(inkernel_pass *p, int later)
{
    const int slot = (p->slot + 2 * INKERNEL_PASS_SLOTS - 1 - later) % INKERNEL_PASS_SLOTS;
    DEVICE_CALL(p->of->dev, event_sync, p->copied[slot]);
    uint64_t most = 0;
    for (int i = 0; i < INKERNEL_NORM_WORDS; i++) {
        const uint64_t word = p->change_host[slot * NORM + i * INKERNEL_NORM_STEP];
        if (word > most) most = word;
    }
    return most;
}
