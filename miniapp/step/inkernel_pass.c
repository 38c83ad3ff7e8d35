/* Flag words hold the epoch, the level modulo INKERNEL_EPOCHS: the same on all ranks, because all take the
 * same steps. A start waits until every kernel of every rank has ended and empties all inboxes, so that no
 * word of an earlier run of steps is taken for one of a later; then the words of the present level are sent,
 * with the epoch that fits the fields' parity. */
#include "step/step.h"

#include <assert.h>
#include <stdlib.h>

#include "exchange/inkernel_plan.h"
#include "ranks/check.h"
#include "ranks/ranks.h"
#include "transports/peer.h"

struct inkernel_pass {
    device *d; /* not owned */
    field_shape shape;
    MPI_Comm comm;
    peer *peers; /* NULL: no neighbours */
    void *field[2];
    void *inbox[2]; /* of each one's ghosts (inkernel_plan.h); NULL: no neighbours */
    size_t inbox_bytes; /* of the rank that needs most, as the second one lies behind the first */
    inkernel_step linked[2]; /* [i] writes field[i] */
    int epoch;             /* of the present level; its parity says which field the next step writes */
    uint64_t *change;      /* [slots][INKERNEL_PASS_NORMS_MAX] norms, each cleared by the step before its
                            * own; NULL: none */
    uint64_t *change_host; /* [INKERNEL_PASS_SLOTS] norms, pinned: each run's last */
    device_stream *aside;  /* brings them, beside the next step */
    device_event *taken, *copied[INKERNEL_PASS_SLOTS];
    int slot; /* of the next run of norms */
};

static void make_changes(inkernel_pass *p)
{
    device *d = p->d;
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

static void free_changes(inkernel_pass *p)
{
    device *d = p->d;
    if (!p->change) return;
    DEVICE_CALL(d, stream_sync, p->aside);
    DEVICE_CALL(d, stream_destroy, &p->aside);
    DEVICE_CALL(d, event_destroy, &p->taken);
    for (int i = 0; i < INKERNEL_PASS_SLOTS; i++) DEVICE_CALL(d, event_destroy, &p->copied[i]);
    DEVICE_CALL(d, free, DEVICE_MEMORY_PINNED, p->change_host);
    DEVICE_CALL(d, free, DEVICE_MEMORY_DEVICE, p->change);
}

/* Two inboxes, for even and odd levels, in memory that the neighbours map, and theirs. For several ranks;
 * collective. False on all of them, with the reason, where a rank cannot reach a neighbour. */
static bool make_inboxes(inkernel_pass *p, const decomp *dec, const stencil *op, inkernel_level level[2],
                         sentence *why)
{
    int direction[DECOMP_NEIGHBOURS], rank[DECOMP_NEIGHBOURS], count = 0;
    void *theirs[DECOMP_NEIGHBOURS];
    int64_t bytes = (int64_t)inkernel_plan_inbox_bytes(&p->shape, op->radius);
    MPI_CHECK(ranks_allreduce(&bytes, 1, MPI_INT64_T, MPI_MAX, p->comm));
    p->inbox_bytes = ((size_t)bytes + 255) & ~(size_t)255; /* as cudaMalloc aligns what it gives */
    for (int k = 0; k < DECOMP_NEIGHBOURS; k++)
        if (dec->neighbour[k] >= 0 &&
            (op->form == STENCIL_BOX || decomp_dx[k] == 0 || decomp_dy[k] == 0)) {
            direction[count] = k;
            rank[count++] = dec->neighbour[k];
        }
    p->peers = peer_create(p->d, rank, count, 2 * p->inbox_bytes, theirs, p->comm, why);
    for (int i = 0; i < 2 && p->peers; i++) {
        level[i].inbox = p->inbox[i] = (char *)peer_own(p->peers) + (size_t)i * p->inbox_bytes;
        for (int k = 0; k < count; k++)
            level[i].theirs[direction[k]] = (char *)theirs[k] + (size_t)i * p->inbox_bytes;
    }
    return p->peers != NULL;
}

static bool make_plans(inkernel_pass *p, const step_setup *of, const boundary *sides,
                       const inkernel_level level[2])
{
    bool ok = true;
    for (int i = 0; i < 2; i++)
        ok = inkernel_plan_make(&p->linked[i], of->dec, &p->shape, sides, of->op->radius,
                                of->op->form == STENCIL_BOX, &level[1 - i], &level[i]) &&
             ok;
    return ok;
}

inkernel_pass *inkernel_pass_create(const step_setup *of, const boundary *sides, void *const fields[2],
                                    sentence *why)
{
    device *d = of->dev;
    const field_shape *f = of->shape;
    inkernel_level level[2] = { { .field = fields[0] }, { .field = fields[1] } };
    const bool fits = f->depth_y > 0 && f->nx >= of->op->radius && f->ny >= of->op->radius;
    if (!agree_all(fits && d->stencil_inkernel_can(d, false), of->comm)) {
        sentence_set(why, "in-kernel exchange exists for 2D stencils on GPUs only");
        return NULL;
    }
    inkernel_pass *p = CHECK_ALLOC(calloc(1, sizeof *p));
    *p = (inkernel_pass){ .d = d, .shape = *f, .field = { fields[0], fields[1] } };
    MPI_CHECK(ranks_dup(of->comm, &p->comm));
    bool ok = ranks_count(of->comm) == 1 || make_inboxes(p, of->dec, of->op, level, why);
    if (ok && d->stencil_inkernel_can(d, true)) make_changes(p);
    if (ok && !agree_all(make_plans(p, of, sides, level), of->comm))
        ok = sentence_refuse(why, "an axis has fewer cells than the stencil's radius");
    if (!ok) inkernel_pass_destroy(&p);
    return p;
}

void inkernel_pass_destroy(inkernel_pass **p)
{
    if (!p || !*p) return;
    peer_destroy(&(*p)->peers);
    free_changes(*p);
    MPI_CHECK(ranks_free(&(*p)->comm));
    free(*p);
    *p = NULL;
}

void inkernel_pass_start(inkernel_pass *p, const void *next, device_stream *s)
{
    device *d = p->d;
    const int writes = next == p->field[1];
    p->epoch = writes;
    DEVICE_CALL(d, stream_sync, s); /* the ghosts are there: steps go to another stream */
    if (!p->peers) return;
    MPI_CHECK(ranks_barrier(p->comm)); /* no rank's kernels run: none stores words */
    DEVICE_CALL(d, fill_bytes, p->inbox[0], 0xff, 2 * p->inbox_bytes, s);
    DEVICE_CALL(d, stream_sync, s);
    MPI_CHECK(ranks_barrier(p->comm));
    inkernel_step present = p->linked[1 - writes];
    present.epoch = (uint64_t)p->epoch;
    DEVICE_CALL(d, inkernel_flag_words, &p->shape, p->field[1 - writes], &present, s);
    DEVICE_CALL(d, stream_sync, s);
}

int inkernel_pass_epoch(const inkernel_pass *p, const void *next, bool exchange)
{
    const int parity = next == p->field[1];
    assert(!exchange || p->epoch % 2 == parity);
    return exchange ? p->epoch : parity;
}

void inkernel_pass_advance(inkernel_pass *p, int64_t steps)
{
    p->epoch = (int)((p->epoch + steps) % INKERNEL_EPOCHS);
}

enum { NORM = INKERNEL_NORM_BYTES / (int)sizeof(uint64_t) };

static uint64_t *norm_at(const inkernel_pass *p, int slot, int number)
{
    assert(number < INKERNEL_PASS_NORMS_MAX);
    return p->change + (slot * INKERNEL_PASS_NORMS_MAX + number) * NORM;
}

/* Without the neighbours: no words come or go. */
static void cut_links(inkernel_step *step)
{
    const int images = step->images;
    step->inboxes = step->images = 0;
    for (int i = 0; i < images; i++)
        if (!step->image[i].flag_words) step->image[step->images++] = step->image[i];
}

void inkernel_pass_step(inkernel_pass *p, int epoch, const void *prev, bool exchange, inkernel_pass_norm norm,
                        device_stream *s)
{
    device *d = p->d;
    const int i = epoch % 2;
    inkernel_step step = p->linked[i];
    if (!exchange) cut_links(&step);
    step.epoch = (uint64_t)epoch;
    if (norm.of > 0) {
        const int slot = norm.number + 1 < norm.of ? norm.slot : (norm.slot + 1) % INKERNEL_PASS_SLOTS;
        step.change = norm_at(p, norm.slot, norm.number);
        step.clear = norm_at(p, slot, slot == norm.slot ? norm.number + 1 : 0);
    }
    DEVICE_CALL(d, stencil_inkernel, &p->shape, p->field[i], p->field[1 - i], prev, &step, s);
}

void inkernel_pass_fetch(inkernel_pass *p, int norms, device_stream *s)
{
    device *d = p->d;
    const int slot = p->slot;
    DEVICE_CALL(d, event_record, p->taken, s);
    DEVICE_CALL(d, event_wait, p->taken, p->aside);
    DEVICE_CALL(d, copy, p->change_host + slot * NORM, norm_at(p, slot, norms - 1), INKERNEL_NORM_BYTES,
                p->aside);
    DEVICE_CALL(d, event_record, p->copied[slot], p->aside);
    p->slot = (slot + 1) % INKERNEL_PASS_SLOTS;
}

bool inkernel_pass_can_change(const inkernel_pass *p) { return p->change != NULL; }

int inkernel_pass_slot(const inkernel_pass *p) { return p->slot; }

uint64_t inkernel_pass_change(inkernel_pass *p, int later)
{
    const int slot = (p->slot + 2 * INKERNEL_PASS_SLOTS - 1 - later) % INKERNEL_PASS_SLOTS;
    DEVICE_CALL(p->d, event_sync, p->copied[slot]);
    uint64_t most = 0;
    for (int i = 0; i < INKERNEL_NORM_WORDS; i++) {
        const uint64_t word = p->change_host[slot * NORM + i * INKERNEL_NORM_STEP];
        if (word > most) most = word;
    }
    return most;
}
