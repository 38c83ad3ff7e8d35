/* The epoch, the level modulo INKERNEL_EPOCHS, is in every flag word: the same on all ranks, because all take the same steps. A
 * start waits until every kernel of every rank has ended and empties all inboxes, so that no flag word of an earlier run of steps
 * is taken for one of a later; then the flag words of the present level go, by the epoch that fits the fields' parity. */
#include "step/whole_pass.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "exchange/whole_plan.h"
#include "ranks/agree.h"
#include "ranks/check.h"
#include "ranks/ranks.h"
#include "transports/peer.h"

struct whole_pass {
    device *d; /* not owned */
    field_shape shape;
    MPI_Comm comm;
    peer *peers; /* NULL: no neighbours */
    void *field[2];
    void *inbox[2]; /* of each one's ghosts (whole_plan.h); NULL: no neighbours */
    int radius;
    inkernel_step linked[2], alone[2]; /* [i] writes field[i]; alone: without neighbours */
    int epoch;             /* of the present level; its parity says which field the next step writes */
    uint64_t *change;      /* [WHOLE_PASS_TURNS][WHOLE_PASS_NORMS_MAX] norms, each cleared by the step before its own; NULL: none */
    uint64_t *change_host; /* [WHOLE_PASS_TURNS] norms, pinned: each run's last */
    device_stream *aside;  /* brings them, beside the next step */
    device_event *joined, *copied[WHOLE_PASS_TURNS];
    int turn;              /* of the next run of norms */
};

static void make_changes(whole_pass *w)
{
    device *d = w->d;
    const size_t host_bytes = WHOLE_PASS_TURNS * INKERNEL_NORM_BYTES, bytes = host_bytes * WHOLE_PASS_NORMS_MAX;
    DEVICE_CALL(d, stream_create, true, &w->aside);
    DEVICE_CALL(d, event_create, false, &w->joined);
    for (int i = 0; i < WHOLE_PASS_TURNS; i++) DEVICE_CALL(d, event_create, false, &w->copied[i]);
    DEVICE_CALL(d, alloc, DEVICE_MEMORY_PINNED, host_bytes, (void **)&w->change_host);
    DEVICE_CALL(d, alloc, DEVICE_MEMORY_DEVICE, bytes, (void **)&w->change);
    DEVICE_CALL(d, fill_bytes, w->change, 0, bytes, w->aside);
    DEVICE_CALL(d, stream_sync, w->aside);
}

static void free_changes(whole_pass *w)
{
    device *d = w->d;
    if (!w->change) return;
    DEVICE_CALL(d, stream_sync, w->aside);
    DEVICE_CALL(d, stream_destroy, &w->aside);
    DEVICE_CALL(d, event_destroy, &w->joined);
    for (int i = 0; i < WHOLE_PASS_TURNS; i++) DEVICE_CALL(d, event_destroy, &w->copied[i]);
    DEVICE_CALL(d, free, DEVICE_MEMORY_PINNED, w->change_host);
    DEVICE_CALL(d, free, DEVICE_MEMORY_DEVICE, w->change);
}

/* The neighbours lie in these directions. */
static void make_inboxes(whole_pass *w, whole_level level[2], const int *direction, int count)
{
    for (int i = 0; i < 2; i++) {
        void *theirs[DECOMP_NEIGHBOURS];
        level[i].inbox = w->inbox[i] = peer_shared_block(w->peers, whole_plan_inbox_bytes(&w->shape, w->radius), theirs);
        for (int k = 0; k < count; k++) level[i].theirs[direction[k]] = theirs[k];
    }
}

static bool make_plans(whole_pass *w, const decomp *dec, const boundary *sides, bool corners, const int *direction, int count)
{
    decomp nobody = *dec;
    whole_level level[2] = { { .field = w->field[0] }, { .field = w->field[1] } };
    bool ok = true;
    for (int k = 0; k < DECOMP_NEIGHBOURS; k++) nobody.neighbour[k] = -1;
    if (w->peers) make_inboxes(w, level, direction, count);
    for (int i = 0; i < 2; i++) {
        const whole_level *next = &level[i], *cur = &level[1 - i];
        ok = whole_plan_make(&w->linked[i], dec, &w->shape, sides, w->radius, corners, cur, next) && ok;
        ok = whole_plan_make(&w->alone[i], &nobody, &w->shape, sides, w->radius, corners, cur, next) && ok;
    }
    return ok;
}

whole_pass *whole_pass_create(const decomp *dec, device *d, const field_shape *shape, const boundary *sides, int radius,
                              bool corners, void *const fields[2], MPI_Comm comm, char *why, size_t why_bytes)
{
    int direction[DECOMP_NEIGHBOURS], rank[DECOMP_NEIGHBOURS], count = 0, ranks = 1;
    MPI_CHECK(ranks_count(comm, &ranks));
    const bool fits = shape->depth_y > 0 && shape->nx >= radius && shape->ny >= radius;
    if (!agree_all(fits && d->stencil_inkernel_can(d, false), comm)) {
        snprintf(why, why_bytes, "whole steps need a GPU and a 2D stencil");
        return NULL;
    }
    for (int k = 0; k < DECOMP_NEIGHBOURS; k++)
        if (dec->neighbour[k] >= 0 && (corners || decomp_dx[k] == 0 || decomp_dy[k] == 0)) {
            direction[count] = k;
            rank[count++] = dec->neighbour[k];
        }
    whole_pass *w = calloc(1, sizeof *w);
    if (!w) check_fail(__FILE__, __LINE__, "calloc", "out of memory");
    *w = (whole_pass){ .d = d, .shape = *shape, .field = { fields[0], fields[1] }, .radius = radius };
    MPI_CHECK(ranks_dup(comm, &w->comm));
    if (ranks > 1) {
        w->peers = peer_create(d, rank, count, comm, why, why_bytes);
        if (!w->peers) {
            MPI_CHECK(ranks_free(&w->comm));
            free(w);
            return NULL;
        }
    }
    if (d->stencil_inkernel_can(d, true)) make_changes(w);
    const bool ok = make_plans(w, dec, sides, corners, direction, count);
    if (!agree_all(ok, comm)) {
        snprintf(why, why_bytes, "an axis is shorter than the stencil reaches");
        whole_pass_destroy(&w);
    }
    return w;
}

void whole_pass_destroy(whole_pass **w)
{
    if (!w || !*w) return;
    peer_destroy(&(*w)->peers);
    free_changes(*w);
    MPI_CHECK(ranks_free(&(*w)->comm));
    free(*w);
    *w = NULL;
}

void whole_pass_start(whole_pass *w, const void *next, device_stream *s)
{
    device *d = w->d;
    const int writes = next == w->field[1];
    w->epoch = writes;
    DEVICE_CALL(d, stream_sync, s); /* the ghosts are there: steps go to another stream */
    if (!w->peers) return;
    MPI_CHECK(ranks_barrier(w->comm)); /* no rank's kernels run: none stores words */
    for (int i = 0; i < 2; i++)
        DEVICE_CALL(d, fill_bytes, w->inbox[i], 0xff, whole_plan_inbox_bytes(&w->shape, w->radius), s);
    DEVICE_CALL(d, stream_sync, s);
    MPI_CHECK(ranks_barrier(w->comm));
    inkernel_step present = w->linked[1 - writes];
    present.epoch = (uint64_t)w->epoch;
    DEVICE_CALL(d, inkernel_flag_words, &w->shape, w->field[1 - writes], &present, s);
    DEVICE_CALL(d, stream_sync, s);
}

int whole_pass_epoch(const whole_pass *w, const void *next, bool exchange)
{
    const int parity = next == w->field[1];
    assert(!exchange || w->epoch % 2 == parity);
    return exchange ? w->epoch : parity;
}

void whole_pass_advance(whole_pass *w, int64_t steps) { w->epoch = (int)((w->epoch + steps) % INKERNEL_EPOCHS); }

enum { NORM = INKERNEL_NORM_BYTES / (int)sizeof(uint64_t) };

static uint64_t *norm_at(const whole_pass *w, int turn, int number)
{
    assert(number < WHOLE_PASS_NORMS_MAX);
    return w->change + (turn * WHOLE_PASS_NORMS_MAX + number) * NORM;
}

void whole_pass_step(whole_pass *w, int epoch, const void *prev, bool exchange, whole_pass_norm norm, device_stream *s)
{
    device *d = w->d;
    const int i = epoch % 2;
    inkernel_step step = exchange ? w->linked[i] : w->alone[i];
    step.epoch = (uint64_t)epoch;
    if (norm.of > 0) {
        const int turn = norm.number + 1 < norm.of ? norm.turn : (norm.turn + 1) % WHOLE_PASS_TURNS;
        step.change = norm_at(w, norm.turn, norm.number);
        step.clear = norm_at(w, turn, turn == norm.turn ? norm.number + 1 : 0);
    }
    DEVICE_CALL(d, stencil_inkernel, &w->shape, w->field[i], w->field[1 - i], prev, &step, s);
}

void whole_pass_fetch(whole_pass *w, int norms, device_stream *s)
{
    device *d = w->d;
    const int turn = w->turn;
    DEVICE_CALL(d, event_record, w->joined, s);
    DEVICE_CALL(d, event_wait, w->joined, w->aside);
    DEVICE_CALL(d, copy, w->change_host + turn * NORM, norm_at(w, turn, norms - 1), INKERNEL_NORM_BYTES, w->aside);
    DEVICE_CALL(d, event_record, w->copied[turn], w->aside);
    w->turn = (turn + 1) % WHOLE_PASS_TURNS;
}

bool whole_pass_can_change(const whole_pass *w) { return w->change != NULL; }

int whole_pass_turn(const whole_pass *w) { return w->turn; }

uint64_t whole_pass_change(whole_pass *w, int later)
{
    const int turn = (w->turn + 2 * WHOLE_PASS_TURNS - 1 - later) % WHOLE_PASS_TURNS;
    DEVICE_CALL(w->d, event_sync, w->copied[turn]);
    uint64_t most = 0;
    for (int i = 0; i < INKERNEL_NORM_WORDS; i++) {
        const uint64_t word = w->change_host[turn * NORM + i * INKERNEL_NORM_STEP];
        if (word > most) most = word;
    }
    return most;
}
