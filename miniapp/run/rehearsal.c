#include "run/rehearsal.h"

#include <math.h>
#include <stdlib.h>

#include "ranks/check.h"
#include "ranks/ranks.h"
#include "ranks/timer.h"
#include "run/calibrate.h"
#include "sim/sim_advance.h"
#include "sim/sim_state.h"
#include "sim/sim_trial.h"

static double clamped(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

static double steps_s(sim *s, int64_t steps)
{
    sim_wait(s);
    MPI_CHECK(ranks_barrier(s->top.comm));
    const double begin_s = timer_now_s();
    sim_take(s, steps, true);
    sim_wait(s);
    return timer_slowest_s((timer_now_s() - begin_s) / (double)steps, s->top.comm);
}

/* On the fields of s. Of some batches the shortest: what else the machine does is not the run's. */
static rehearsal_result take_steps(sim *s)
{
    enum { STEPS_MAX = 10000, BATCHES = 3 };
    const double batch_s = 0.04;
    rehearsal_result r = { .nx = s->cfg->grid.nx, .ny = s->cfg->grid.ny, .part = 1 };
    sim_trial_choose_variant(s);
    sim_prepare_steps(s);
    r.ceiling_bytes_per_s = calibrate_ceiling(s);
    sim_touch(s);
    (void)steps_s(s, s->plan.block_steps); /* the first loads the kernels */
    const double steps = clamped(batch_s / steps_s(s, s->plan.block_steps), s->plan.block_steps, STEPS_MAX);
    r.step_s = INFINITY;
    for (int i = 0; i < BATCHES; i++) r.step_s = fmin(r.step_s, steps_s(s, (int64_t)steps));
    return r;
}

/* The run's grid with `part` of its cells, about, and its process grid. Rows are left out, so that messages
 * keep their length, and columns where that is not enough; of a transpose both alike. A rank's box stays wide
 * beside what its passes reach. */
static void cut(const sim *s, double part, config *c)
{
    const decomp *d = &s->plan.grid.dec;
    const double width = (double)d->nx / d->ranks_x, height = (double)d->ny / d->ranks_y;
    const double least = 64 + 8.0 * c->problem.radius * s->plan.block_steps;
    const double rows = clamped(height * (config_kind_of(s->cfg)->transposes > 0 ? sqrt(part) : part),
                                fmin(least, height), height);
    const double columns = clamped(width * part * height / rows, fmin(least, width), width);
    /* rounding cuts no columns */
    if (columns < 0.99 * width) c->grid.nx = (int64_t)ceil(columns) * d->ranks_x;
    if (rows < height) c->grid.ny = (int64_t)ceil(rows) * d->ranks_y;
    c->run.ranks_x = d->ranks_x;
    c->run.ranks_y = d->ranks_y;
    c->run.fuse = s->plan.block_steps;
    c->run.memory = s->plan.in_host_memory ? CONFIG_MEMORY_HOST : CONFIG_MEMORY_DEVICE;
    c->problem.initial = CONFIG_INITIAL_RANDOM; /* modes have limits of their own */
    c->output.trace[0] = '\0';
}

rehearsal_result rehearsal(sim *s)
{
    const double most_bytes = timer_over_ranks(sim_memory_bytes(s), s->top.comm).max;
    const double part = s->dev->kind == DEVICE_HOST ? REHEARSAL_BYTES / most_bytes : 1;
    if (part >= 1) return take_steps(s);
    sentence why = { "" };
    config *c = CHECK_ALLOC(malloc(sizeof *c));
    sim *small = CHECK_ALLOC(malloc(sizeof *small));
    *c = *s->cfg;
    cut(s, part, c);
    if (sim_create(small, c, true, &why) != 0)
        check_fail(__FILE__, __LINE__, "sim_create of a smaller grid", why.text);
    rehearsal_result r = take_steps(small);
    r.part = (double)c->grid.nx * (double)c->grid.ny / ((double)s->cfg->grid.nx * (double)s->cfg->grid.ny);
    r.step_s /= r.part;
    sim_destroy(small);
    free(small);
    free(c);
    return r;
}
