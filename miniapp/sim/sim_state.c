#include "sim/sim.h"

#include <math.h>
#include <string.h>

#include "base/machine.h"
#include "ranks/check.h"
#include "ranks/fault.h"
#include "ranks/ranks.h"
#include "state/state.h"

static device_stream *main_stream(const sim *s) { return s->streams.stream[0]; }

void sim_wait(sim *s) { DEVICE_CHECK(s->dev, s->dev->synchronize(s->dev)); }

int64_t sim_own_cells(const sim *s) { return box_cells(field_own(&s->plan.grid.shape)); }

int sim_level_fields(const sim *s, sim_field field[STATE_FIELDS_MAX])
{
    field[0] = (sim_field){ s->now.u, &s->plan.grid };
    field[1] = s->kind->transposes > 0 ? (sim_field){ s->transposed.field[0], &s->plan.transposed_grid }
                                       : (sim_field){ s->now.prev, &s->plan.grid };
    return kind_fields(s->kind);
}

sim_field sim_main_field(const sim *s)
{
    sim_field field[STATE_FIELDS_MAX];
    (void)sim_level_fields(s, field);
    return field[s->kind->main_field];
}

/* Row strips by stream where a stream is a thread, so that the first touch is the owner's; elsewhere one
 * strip, outside of any active parallel region: the device may open a team of its own. */
static void fill(sim *s, sim_field f, const value *v)
{
    device *d = s->dev;
    const field_shape *shape = &f.grid->shape;
    const bool threads = d->kind == DEVICE_HOST && s->plan.feed == CONFIG_FEED_OPENMP;
    const int strips = threads ? s->plan.streams : 1;
#pragma omp parallel for num_threads(strips) schedule(static)
    for (int i = 0; i < strips; i++)
        DEVICE_CALL(d, value_fill, shape, f.cells, v, box_strip(field_own(shape), i, strips), main_stream(s));
}

void sim_touch(sim *s)
{
    if (s->touched) return;
    for (int i = 0; i < s->fields; i++) {
        const decomp *dec = &s->field[i].grid->dec;
        const value v = { .kind = VALUE_RANDOM,
                          .nx_global = dec->nx,
                          .ny_global = dec->ny,
                          .x_first = dec->own.x0,
                          .y_first = dec->own.y0,
                          .seed = (uint64_t)i + 1 };
        fill(s, s->field[i], &v);
    }
    step_begin_generation(&s->streams);
    sim_wait(s);
    s->touched = true;
}

static void upload(sim *s, sim_field field, const void *host)
{
    const field_shape *f = &field.grid->shape;
    const size_t word = dtype_bytes(f->type), row_bytes = (size_t)f->nx * word;
    DEVICE_CALL(s->dev, copy_rows, field_at(f, field.cells, 0, 0), (size_t)f->pitch * word, host, row_bytes,
                row_bytes, (size_t)f->ny, main_stream(s));
    DEVICE_CALL(s->dev, stream_sync, main_stream(s));
}

bool sim_has_free_level(const sim *s) { return s->plan.window.slot_rows > 0; }

/* Each has room for the larger of two grids. */
static void *snapshot_buffer(sim *s, int slot)
{
    const int64_t a = sim_own_cells(s), b = box_cells(field_own(&s->plan.transposed_grid.shape));
    const size_t bytes = (size_t)(a > b ? a : b) * dtype_bytes(s->cfg->problem.type);
    if (sim_has_free_level(s)) return slot == 0 ? s->next.u : s->next.prev;
    if (!s->snapshot[slot]) DEVICE_CALL(s->dev, alloc, DEVICE_MEMORY_PINNED, bytes, &s->snapshot[slot]);
    return s->snapshot[slot];
}

void *sim_host_copy(sim *s)
{
    const sim_field field = sim_main_field(s);
    const field_shape *f = &field.grid->shape;
    const size_t word = dtype_bytes(f->type), row_bytes = (size_t)f->nx * word;
    void *const to = snapshot_buffer(s, 0);
    DEVICE_CALL(s->dev, copy_rows, to, row_bytes, field_at_const(f, field.cells, 0, 0),
                (size_t)f->pitch * word, row_bytes, (size_t)f->ny, main_stream(s));
    DEVICE_CALL(s->dev, stream_sync, main_stream(s));
    return to;
}

static void settle(sim *s, int64_t level)
{
    s->level = level;
    s->passes = 0;
    s->norm_level = -1;
    s->touched = false;
    step_begin_generation(&s->streams);
    sim_wait(s);
}

/* problem.initial = FILE, of weft or of another program; a file without the level before starts at rest, from
 * equal levels. Collective. 0, or the exit status. */
static int initialise_from_file(sim *s, sentence *why)
{
    const config *c = s->cfg;
    bool has_prev = false;
    void *u = snapshot_buffer(s, 0), *prev = s->prob.op.has_prev ? snapshot_buffer(s, 1) : NULL;
    const state_foreign wanted = { config_initial_path(c), c->problem.dataset, c->problem.type,
                                   c->grid.nx,      c->grid.ny,         s->plan.grid.dec.own };
    sentence reason;
    const state_status status = state_read_foreign(s->top.comm, &wanted, u, prev, &has_prev, &reason);
    if (status != STATE_OK)
        return sentence_fail(status == STATE_IO ? CHECK_EXIT_ENVIRONMENT : CHECK_EXIT_USAGE, why,
                             "problem.initial: %s", reason.text);
    upload(s, (sim_field){ s->now.u, &s->plan.grid }, u);
    if (s->prob.op.has_prev) upload(s, (sim_field){ s->now.prev, &s->plan.grid }, has_prev ? prev : u);
    return 0;
}

/* Debug builds: NaN in all cells and ghosts, so that a ghost that is not filled shows. The allocation's own
 * poison is gone by then: the calibration has exchanged halos in these fields. */
static void poison(sim *s)
{
#ifdef WEFT_DEBUG
    for (int i = 0; i < s->fields; i++)
        DEVICE_CALL(s->dev, fill_bytes, s->field[i].cells, 0xFF, s->field[i].grid->shape.bytes,
                    main_stream(s));
#endif
}

int sim_initialise(sim *s, sentence *why)
{
    poison(s);
    if (s->cfg->problem.initial != CONFIG_INITIAL_FILE) {
        fill(s, (sim_field){ s->now.u, &s->plan.grid }, &s->initial);
        if (s->prob.op.has_prev) {
            const value before = problem_value_before(&s->prob, s->cfg, &s->initial);
            fill(s, (sim_field){ s->now.prev, &s->plan.grid }, &before);
        }
    } else {
        const int status = initialise_from_file(s, why);
        if (status != 0) return status;
    }
    if (!s->kind->stencil)
        DEVICE_CALL(s->dev, fill_bytes, s->transposed.field[0], 0, s->plan.transposed_grid.shape.bytes,
                    main_stream(s));
    settle(s, 0);
    return 0;
}

void sim_state_describe(sim *s, const char *deck_text, state_level *level)
{
    sim_field field[STATE_FIELDS_MAX];
    *level = (state_level){ .kind = kind_name(s->cfg->problem.kind),
                            .type = s->cfg->problem.type,
                            .step = s->level,
                            .main_field = s->kind->main_field,
                            .fields = sim_level_fields(s, field),
                            .deck = deck_text,
                            .version = version_number };
    for (int i = 0; i < level->fields; i++) {
        const decomp *dec = &field[i].grid->dec;
        level->field[i] = (state_cells){ s->kind->field[i],     dec->nx, dec->ny, dec->own, dec->ranks_x,
                                         snapshot_buffer(s, i), 0 };
    }
}

state_status sim_load(sim *s, const state_info *from, sentence *why)
{
    state_level level;
    sim_field field[STATE_FIELDS_MAX];
    sim_state_describe(s, "", &level);
    poison(s); /* before what is read may be there */
    const state_status status = state_load(s->top.comm, from, &level, why);
    if (status != STATE_OK) return status;
    for (int i = sim_level_fields(s, field); i-- > 0;) upload(s, field[i], level.field[i].data);
    settle(s, level.step);
    return STATE_OK;
}

uint64_t sim_result(sim *s)
{
    device *d = s->dev;
    DEVICE_CALL(d, copy, s->result_host, s->result, sizeof *s->result, main_stream(s));
    DEVICE_CALL(d, stream_sync, main_stream(s));
    return *s->result_host;
}

static uint64_t over_ranks(const sim *s, uint64_t mine, MPI_Op op)
{
    MPI_CHECK(ranks_allreduce(&mine, 1, MPI_UINT64_T, op, s->top.comm));
    return mine;
}

double sim_most(const sim *s, uint64_t mine)
{
    const uint64_t bits = over_ranks(s, mine, MPI_MAX);
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

uint64_t sim_fingerprint(sim *s)
{
    device *d = s->dev;
    const sim_field f = sim_main_field(s);
    const decomp *dec = &f.grid->dec;
    DEVICE_CALL(d, fingerprint, &f.grid->shape, f.cells, dec->nx, dec->own.x0, dec->own.y0, s->result,
                main_stream(s));
    return over_ranks(s, sim_result(s), MPI_SUM);
}

int64_t sim_cells_not_finite(sim *s, int64_t *first_x, int64_t *first_y)
{
    device *d = s->dev;
    const sim_field field = sim_main_field(s);
    const field_shape *f = &field.grid->shape;
    const decomp *dec = &field.grid->dec;
    /* x - x is NaN for such a cell and 0 for all others */
    DEVICE_CALL(d, max_change, f, field.cells, field.cells, field_own(f), s->result, main_stream(s));
    if (sim_most(s, sim_result(s)) == 0) return 0;
    const void *const host = sim_host_copy(s);
    uint64_t count = 0, first = UINT64_MAX;
    for (int64_t i = f->nx * f->ny - 1; i >= 0; i--) {
        const double u = f->type == DTYPE_F32 ? ((const float *)host)[i] : ((const double *)host)[i];
        if (isfinite(u)) continue;
        first = (uint64_t)((dec->own.y0 + i / f->nx) * dec->nx + dec->own.x0 + i % f->nx);
        count++;
    }
    first = over_ranks(s, first, MPI_MIN);
    *first_x = (int64_t)first % dec->nx;
    *first_y = (int64_t)first / dec->nx;
    return (int64_t)over_ranks(s, count, MPI_SUM);
}

void sim_inject_fault(sim *s)
{
    if (fault_asked("cell") < 0 || s->top.rank != 0) return;
    const sim_field field = sim_main_field(s);
    const field_shape *f = &field.grid->shape;
    void *const host = sim_host_copy(s);
    const size_t cell = (size_t)((f->ny / 2) * f->nx + f->nx / 2);
    if (f->type == DTYPE_F32) ((float *)host)[cell] += 1e-3f;
    else ((double *)host)[cell] += 1e-3;
    upload(s, field, host);
}
