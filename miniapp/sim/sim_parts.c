#include "sim/sim.h"

#include <string.h>

#include "ranks/check.h"
#include "ranks/ranks.h"
#include "ranks/timer.h"
#include "streaming/streaming.h"

static void *make_field(sim *s, const plan_grid *g)
{
    sim_field *const f = &s->field[s->fields++];
    f->grid = g;
    DEVICE_CALL(s->dev, alloc, DEVICE_MEMORY_DEVICE, halo_field_bytes(s->dev->kind, &g->shape), &f->cells);
    return f->cells;
}

/* All but the first `left`. */
static void free_fields(sim *s, int left)
{
    while (s->fields > left) DEVICE_CALL(s->dev, free, DEVICE_MEMORY_DEVICE, s->field[--s->fields].cells);
}

void sim_make_fields(sim *s)
{
    const plan_grid *g = &s->plan.grid;
    if (s->now.u) return;
    const double begin_s = timer_now_s();
    s->now.u = make_field(s, g);
    if (s->kind->stencil) s->next.u = make_field(s, g);
    for (int i = 0; i < s->kind->transposes; i++)
        s->transposed.field[i] = make_field(s, &s->plan.transposed_grid);
    if (plan_four_fields(s->cfg, s->plan.block_steps)) {
        s->now.prev = make_field(s, g);
        s->next.prev = make_field(s, g);
    }
    if (s->plan.window.slot_rows > 0) DEVICE_CHECK(s->dev, streaming_prepare(s->dev, &s->plan.window));
    DEVICE_CALL(s->dev, alloc, DEVICE_MEMORY_DEVICE, sizeof *s->result, (void **)&s->result);
    DEVICE_CALL(s->dev, alloc, DEVICE_MEMORY_PINNED, sizeof *s->result_host, (void **)&s->result_host);
    s->phase_s[PHASE_FIELDS] = timer_now_s() - begin_s;
}

static void make_streams(sim *s)
{
    if (s->streams.dev) return;
    step_streams_create(&s->streams, s->dev, s->plan.streams, s->plan.feed);
    for (int i = 0; i < 2; i++) DEVICE_CALL(s->dev, event_create, true, &s->stamp[i]);
}

void sim_make_passes(sim *s)
{
    const plan *p = &s->plan;
    const boundary *sides = &s->cfg->grid.sides;
    const boundary transposed_sides = { sides->y_low, sides->y_high, sides->x_low, sides->x_high };
    step_setup of = { .dev = s->dev,
                      .dec = &p->grid.dec,
                      .shape = &p->grid.shape,
                      .sides = sides,
                      .op = &s->prob.op,
                      .streams = p->streams,
                      .block_steps = p->block_steps,
                      .every_norm = s->cfg->time.norm_every == 1,
                      .persistent = p->persistent ? &s->persistent.memory : NULL,
                      .choice = &p->grid.choice,
                      .comm = s->top.comm };
    sim_make_fields(s);
    make_streams(s);
    if (s->pass.halo &&
        (s->pass.of.block_steps != p->block_steps || s->pass.of.persistent != of.persistent)) {
        step_pass_destroy(&s->pass);
        if (p->block_steps == 1) free_fields(s, 2); /* single steps have turned out to be faster */
    }
    if (s->prob.op.has_prev && p->block_steps == 1) { /* what a step writes is the level before */
        s->now.prev = s->next.u;
        s->next.prev = s->now.u;
    }
    of.field[0] = s->now;
    of.field[1] = s->next;
    if (!s->pass.halo) step_pass_create(&s->pass, &of);
    if (!s->kind->by_lines || s->transposed.pass.halo) return;
    of.dec = &p->transposed_grid.dec;
    of.shape = &p->transposed_grid.shape;
    of.sides = &transposed_sides;
    of.choice = &p->transposed_grid.choice;
    step_pass_create(&s->transposed.pass, &of);
}

/* Ranks have as many rows (plan_temporal.c): their tiles, and so what they wait for, are cut alike if as many
 * bytes are wanted. */
bool sim_make_persistent(sim *s, sentence *why)
{
    const decomp *dec = &s->plan.grid.dec;
    const field_shape *f = &s->plan.grid.shape;
    const boundary *sides = &s->cfg->grid.sides;
    sim_persistent *const l = &s->persistent;
    const size_t bytes = s->dev->persistent_bytes(s->dev, f, sides, dec->ranks_y > 1);
    const int beside[2] = { dec->neighbour[decomp_direction(0, -1)], dec->neighbour[decomp_direction(0, 1)] };
    void *theirs[2] = { NULL, NULL };
    if (l->peers) return true;
    int64_t most_bytes = (int64_t)bytes;
    MPI_CHECK(ranks_allreduce(&most_bytes, 1, MPI_INT64_T, MPI_MAX, s->top.comm));
    if (!agree_all(bytes > 0 && most_bytes == (int64_t)bytes, s->top.comm))
        return sentence_refuse(why,
                               "the GPUs' registers do not hold the field, or hold different parts of it");
    l->peers = peer_create(s->dev, beside, dec->ranks_y > 1 ? 2 : 0, bytes, theirs, s->top.comm, why);
    if (!l->peers) return false;
    l->memory = (persistent_memory){ .here = peer_own(l->peers), .above = theirs[0], .below = theirs[1] };
    DEVICE_CALL(s->dev, persistent_prepare, f, sides, dec->ranks_y > 1);
    return true;
}

bool sim_make_redists(sim *s, transport_kind over, sentence *why)
{
    const plan_grid *a = &s->plan.grid, *b = &s->plan.transposed_grid;
    sim_transposed *t = &s->transposed;
    if (t->to) return true;
    t->to = redist_create(&a->dec, &b->dec, s->dev, &a->shape, &b->shape, over, s->top.comm);
    if (s->kind->by_lines)
        t->from = redist_create(&b->dec, &a->dec, s->dev, &b->shape, &a->shape, over, s->top.comm);
    const char *refusal = redist_refusal(t->to);
    if (refusal[0] == '\0' && t->from) refusal = redist_refusal(t->from);
    if (refusal[0] == '\0') return true;
    sentence_set(why, "%s", refusal);
    redist_destroy(&t->to);
    redist_destroy(&t->from);
    return false;
}

void sim_make_parts(sim *s)
{
    const plan *p = &s->plan;
    sentence why = { "" };
    sim_make_fields(s);
    make_streams(s);
    if (!p->persistent) peer_destroy(&s->persistent.peers);
    if (p->persistent && !sim_make_persistent(s, &why))
        check_fail(__FILE__, __LINE__, "persistent passes", why.text);
    if (s->kind->stencil) {
        sim_make_passes(s);
        step_pass_set_form(&s->pass, p->form);
    }
    if (s->kind->transposes && !sim_make_redists(s, p->redist_transport, &why))
        check_fail(__FILE__, __LINE__, "transposes", why.text);
    s->streams.feed = p->feed;
}

void sim_destroy(sim *s)
{
    if (s->dev) {
        sim_wait(s);
        redist_destroy(&s->transposed.to);
        redist_destroy(&s->transposed.from);
        peer_destroy(&s->persistent.peers);
        snapshot_destroy(s);
        step_pass_destroy(&s->pass);
        step_pass_destroy(&s->transposed.pass);
        step_streams_destroy(&s->streams);
        for (int i = 0; i < 2; i++) DEVICE_CALL(s->dev, event_destroy, &s->stamp[i]);
        free_fields(s, 0);
        DEVICE_CALL(s->dev, free, DEVICE_MEMORY_DEVICE, s->result);
        DEVICE_CALL(s->dev, free, DEVICE_MEMORY_DEVICE, s->device_tables);
        if (s->result_host) DEVICE_CALL(s->dev, free, DEVICE_MEMORY_PINNED, s->result_host);
        for (int i = 0; i < STATE_FIELDS_MAX; i++)
            if (s->snapshot[i]) DEVICE_CALL(s->dev, free, DEVICE_MEMORY_PINNED, s->snapshot[i]);
        device_destroy(&s->dev);
    }
    topology_destroy(&s->top);
    memset(s, 0, sizeof *s);
}
