/* The values of a simulation's fields: where they come from, where they go, and what is measured on them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "sim.h"
#include "version.h"

static device_stream *main_stream(const sim *s) { return s->streams.lane[0]; }

/* Row strips by lane where a lane is a thread, so that the first touch is the owner's; elsewhere any way does. */
static void fill_box(sim *s, const sim_grid *g, void *field, const value *v, box cells)
{
    device *d = s->dev;
    if (d->kind == DEVICE_HOST && s->feed == CONFIG_FEED_OPENMP) {
#pragma omp parallel for num_threads(s->lanes) schedule(static)
        for (int lane = 0; lane < s->lanes; lane++)
            DEVICE_CHECK(d, d->value_fill(d, &g->shape, field, v, box_strip(cells, lane, s->lanes), main_stream(s)));
    } else {
        DEVICE_CHECK(d, d->value_fill(d, &g->shape, field, v, cells, main_stream(s)));
    }
}

static void fill(sim *s, const sim_grid *g, void *field, const value *v) { fill_box(s, g, field, v, field_own(&g->shape)); }

static value random_value(const sim_grid *g, uint64_t seed)
{
    const value v = { .kind = VALUE_RANDOM, .nx_global = g->dec.nx, .ny_global = g->dec.ny,
                      .x_first = g->dec.own.x0, .y_first = g->dec.own.y0, .seed = seed };
    return v;
}

void sim_touch(sim *s)
{
    const bool transposes = s->cfg->problem.kind == CONFIG_TRANSPOSE;
    const sim_grid *other = transposes ? &s->turned_grid : &s->grid;
    const value u = random_value(&s->grid, 1), w = random_value(other, 2), t = random_value(&s->turned_grid, 3);
    fill(s, &s->grid, s->u, &u);
    fill(s, other, s->other, &w);
    for (int i = 0; i < 2; i++) {
        if (s->turned[i]) fill(s, &s->turned_grid, s->turned[i], &t);
        if (s->spare[i]) fill(s, &s->grid, s->spare[i], &u);
    }
    step_mark_level(&s->streams);
    sim_wait(s);
}

void sim_touch_box(sim *s, box cells)
{
    const value u = random_value(&s->grid, 1), w = random_value(&s->grid, 2);
    fill_box(s, &s->grid, s->u, &u, cells);
    fill_box(s, &s->grid, s->other, &w, cells);
    for (int i = 0; i < 2; i++)
        if (s->spare[i]) fill_box(s, &s->grid, s->spare[i], &u, cells);
    step_mark_level(&s->streams);
    sim_wait(s);
}

static void upload(sim *s, const sim_grid *g, void *field, const void *host)
{
    const field_shape *f = &g->shape;
    const size_t word = dtype_bytes(f->type), row_bytes = (size_t)f->nx * word;
    if (box_empty(field_own(f))) return;
    DEVICE_CHECK(s->dev, s->dev->copy_rows(s->dev, field_at(f, field, 0, 0), (size_t)f->pitch * word, host, row_bytes,
                                           row_bytes, (size_t)f->ny, main_stream(s)));
    DEVICE_CHECK(s->dev, s->dev->stream_sync(s->dev, main_stream(s)));
}

static void *snapshot_buffer(sim *s, int slot)
{
    if (!s->snapshot[slot]) {
        int64_t cells = sim_own_cells(s);
        const int64_t turned_cells = box_cells(field_own(&s->turned_grid.shape));
        if (turned_cells > cells) cells = turned_cells;
        DEVICE_CHECK(s->dev, s->dev->alloc(s->dev, DEVICE_MEMORY_PINNED,
                                           (size_t)cells * dtype_bytes(s->cfg->problem.type), &s->snapshot[slot]));
    }
    return s->snapshot[slot];
}

const void *sim_host_copy(sim *s, const sim_grid *g, const void *field, int slot)
{
    const field_shape *f = &g->shape;
    const size_t word = dtype_bytes(f->type), row_bytes = (size_t)f->nx * word;
    void *to = snapshot_buffer(s, slot);
    if (!box_empty(field_own(f)))
        DEVICE_CHECK(s->dev, s->dev->copy_rows(s->dev, to, row_bytes, field_at_const(f, field, 0, 0),
                                               (size_t)f->pitch * word, row_bytes, (size_t)f->ny, main_stream(s)));
    DEVICE_CHECK(s->dev, s->dev->stream_sync(s->dev, main_stream(s)));
    return to;
}

static void settle(sim *s, int64_t level)
{
    s->level = level;
    step_mark_level(&s->streams);
    sim_wait(s);
}

static int exit_of(checkpoint_status status)
{
    return status == CHECKPOINT_OK ? 0 : status == CHECKPOINT_IO ? CHECK_EXIT_ENVIRONMENT : CHECK_EXIT_USAGE;
}

static int initialise_from_file(sim *s, char *why, size_t why_bytes)
{
    const config *c = s->cfg;
    bool has_prev = false;
    void *u = snapshot_buffer(s, 0), *prev = s->prob.two_levels ? snapshot_buffer(s, 1) : NULL;
    const checkpoint_foreign wanted = { c->problem.file, c->problem.dataset, c->problem.type, c->grid.nx, c->grid.ny, s->grid.dec.own };
    const checkpoint_status status = checkpoint_read_foreign(s->top.comm, &wanted, u, prev, &has_prev, why, why_bytes);
    if (status != CHECKPOINT_OK) return exit_of(status);
    upload(s, &s->grid, s->u, u);
    if (s->prob.two_levels) upload(s, &s->grid, s->other, has_prev ? prev : u);
    return 0;
}

/* Debug builds: NaN in all cells and ghosts, so that a ghost that nobody fills shows. The allocation's own poison is gone
 * by then: the calibration has exchanged halos in these fields. */
static void poison(sim *s)
{
#ifdef WEFT_DEBUG
    device *d = s->dev;
    const size_t turned_bytes = s->turned_grid.shape.bytes;
    const size_t other_bytes = s->cfg->problem.kind == CONFIG_TRANSPOSE ? turned_bytes : s->grid.shape.bytes;
    DEVICE_CHECK(d, d->fill_bytes(d, s->u, 0xFF, s->grid.shape.bytes, main_stream(s)));
    DEVICE_CHECK(d, d->fill_bytes(d, s->other, 0xFF, other_bytes, main_stream(s)));
    for (int i = 0; i < 2; i++) {
        if (s->turned[i]) DEVICE_CHECK(d, d->fill_bytes(d, s->turned[i], 0xFF, turned_bytes, main_stream(s)));
        if (s->spare[i]) DEVICE_CHECK(d, d->fill_bytes(d, s->spare[i], 0xFF, s->grid.shape.bytes, main_stream(s)));
    }
#else
    (void)s;
#endif
}

int sim_initialise(sim *s, char *why, size_t why_bytes)
{
    device *d = s->dev;
    poison(s);
    if (s->has_formula) {
        fill(s, &s->grid, s->u, &s->initial);
        if (s->prob.two_levels) {
            const value before = problem_value_before(&s->prob, s->cfg, &s->initial);
            fill(s, &s->grid, s->other, &before);
        }
    } else {
        const int status = initialise_from_file(s, why, why_bytes);
        if (status != 0) return status;
    }
    if (s->cfg->problem.kind == CONFIG_TRANSPOSE)
        DEVICE_CHECK(d, d->fill_bytes(d, s->other, 0, s->turned_grid.shape.bytes, main_stream(s)));
    settle(s, 0);
    return 0;
}

static checkpoint_field state_field(const char *name, const sim_grid *g, void *data)
{
    const checkpoint_field f = { name, g->dec.nx, g->dec.ny, g->dec.own, data, 0 };
    return f;
}

/* The fields of a state file of this kind, with host buffers. */
static checkpoint_state state_of(sim *s)
{
    const config *c = s->cfg;
    checkpoint_state state = { .kind = config_kind_name(c->problem.kind), .type = c->problem.type, .step = s->level };
    if (c->problem.kind == CONFIG_TRANSPOSE) {
        state.field[state.fields++] = state_field("a", &s->grid, snapshot_buffer(s, 0));
        state.field[state.fields++] = state_field("b", &s->turned_grid, snapshot_buffer(s, 1));
    } else {
        state.field[state.fields++] = state_field("u", &s->grid, snapshot_buffer(s, 0));
        if (s->prob.two_levels) state.field[state.fields++] = state_field("u_prev", &s->grid, snapshot_buffer(s, 1));
    }
    return state;
}

checkpoint_status sim_load(sim *s, const char *path, char *why, size_t why_bytes)
{
    checkpoint_state state = state_of(s);
    const checkpoint_status status = checkpoint_read(s->top.comm, path, &state, why, why_bytes);
    if (status != CHECKPOINT_OK) return status;
    poison(s);
    upload(s, &s->grid, s->u, state.field[0].data);
    if (state.fields > 1)
        upload(s, s->cfg->problem.kind == CONFIG_TRANSPOSE ? &s->turned_grid : &s->grid, s->other, state.field[1].data);
    settle(s, state.step);
    return CHECKPOINT_OK;
}

static uint64_t reduce_result(sim *s, MPI_Op op)
{
    device *d = s->dev;
    DEVICE_CHECK(d, d->copy(d, s->result_host, s->result, sizeof *s->result, main_stream(s)));
    DEVICE_CHECK(d, d->stream_sync(d, main_stream(s)));
    uint64_t all = 0;
    MPI_CHECK(MPI_Allreduce(s->result_host, &all, 1, MPI_UINT64_T, op, s->top.comm));
    return all;
}

static double double_of_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint64_t field_fingerprint(sim *s, const sim_grid *g, const void *field)
{
    device *d = s->dev;
    DEVICE_CHECK(d, d->fingerprint(d, &g->shape, field, g->dec.nx, g->dec.own.x0, g->dec.own.y0, s->result, main_stream(s)));
    return reduce_result(s, MPI_SUM);
}

uint64_t sim_fingerprint(sim *s)
{
    if (s->cfg->problem.kind == CONFIG_TRANSPOSE) return field_fingerprint(s, &s->turned_grid, s->other);
    return field_fingerprint(s, &s->grid, s->u);
}

double sim_max_error(sim *s, const sim_grid *g, const void *field, const value *v)
{
    device *d = s->dev;
    DEVICE_CHECK(d, d->max_error(d, &g->shape, field, v, field_own(&g->shape), s->result, main_stream(s)));
    return double_of_bits(reduce_result(s, MPI_MAX));
}

double sim_change(sim *s)
{
    device *d = s->dev;
    if (s->cfg->problem.kind == CONFIG_TRANSPOSE) return NAN;
    DEVICE_CHECK(d, d->max_change(d, &s->grid.shape, s->u, s->other, field_own(&s->grid.shape), s->result, main_stream(s)));
    return double_of_bits(reduce_result(s, MPI_MAX));
}

double sim_change_of(sim *s, int later)
{
    const uint64_t mine = whole_pass_change(s->pass.whole, later);
    uint64_t all = 0;
    MPI_CHECK(MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_MAX, s->top.comm));
    return double_of_bits(all);
}

static checkpoint_verify_how verify_how(config_verify v)
{
    return v == CONFIG_VERIFY_OFF      ? CHECKPOINT_VERIFY_OFF
           : v == CONFIG_VERIFY_SAMPLE ? CHECKPOINT_VERIFY_SAMPLE
                                       : CHECKPOINT_VERIFY_FULL;
}

void sim_state_describe(sim *s, const char *deck_text, checkpoint_state *state)
{
    *state = state_of(s);
    state->deck = deck_text;
    state->version = version_number;
    state->verify = verify_how(s->cfg->checkpoint.verify);
    state->aggregators = s->cfg->checkpoint.aggregators;
}

void sim_snapshot(sim *s, const char *deck_text, checkpoint_state *state)
{
    sim_state_describe(s, deck_text, state);
    const void *const fields[CHECKPOINT_FIELDS_MAX] = { s->u, s->other };
    for (int i = 0; i < state->fields; i++) {
        const sim_grid *g = i == 1 && s->cfg->problem.kind == CONFIG_TRANSPOSE ? &s->turned_grid : &s->grid;
        state->field[i].fingerprint = field_fingerprint(s, g, fields[i]);
        sim_host_copy(s, g, fields[i], i);
    }
}

void sim_set_count_table(sim *s, value *v, const double *table)
{
    device *d = s->dev;
    /* the tables' block is laid out by sim_create; its last part is the count table */
    DEVICE_CHECK(d, d->copy(d, (void *)(uintptr_t)s->initial.table, table, VALUE_COUNT_TABLE * sizeof *table, main_stream(s)));
    DEVICE_CHECK(d, d->stream_sync(d, main_stream(s)));
    v->table = s->initial.table;
}

void sim_inject_fault(sim *s)
{
#ifdef WEFT_DEBUG
    const char *fault = getenv("WEFT_FAULT");
    if (!fault || strcmp(fault, "cell") != 0 || s->top.rank != 0) return;
    const bool transposes = s->cfg->problem.kind == CONFIG_TRANSPOSE;
    const sim_grid *g = transposes ? &s->turned_grid : &s->grid;
    void *field = transposes ? s->other : s->u;
    unsigned char *host = snapshot_buffer(s, 0);
    sim_host_copy(s, g, field, 0);
    const size_t cell = (size_t)((g->shape.ny / 2) * g->shape.nx + g->shape.nx / 2);
    if (g->shape.type == DTYPE_F32) ((float *)(void *)host)[cell] += 1e-3f;
    else ((double *)(void *)host)[cell] += 1e-3;
    upload(s, g, field, host);
#else
    (void)s;
#endif
}
