#include "run/calibrate.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/check.h"
#include "ranks/fault.h"
#include "ranks/ranks.h"
#include "ranks/trial.h"
#include "run/watchdog.h"
#include "sim/sim_state.h"

/* ---- what pairs show ---- */

typedef struct median { /* with its 95 % confidence interval */
    double middle, low, high;
} median;

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* n is OVERLAP_PAIRS_LEAST .. OVERLAP_PAIRS_MAX. There n / 3 - 1 is the largest k for which the k-th smallest
 * and the k-th largest sample enclose the median with 95 %, by the binomial distribution. */
static median median_of(const double *samples, int n)
{
    double sorted[OVERLAP_PAIRS_MAX];
    const int k = n / 3 - 1;
    memcpy(sorted, samples, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, ascending);
    return (median){ (sorted[(n - 1) / 2] + sorted[n / 2]) / 2, sorted[k - 1], sorted[n - k] };
}

static double uncertainty_of(median m) { return fmax(m.high - m.middle, m.middle - m.low); }

/* Nothing was measured. */
static overlap overlap_none(const char *why)
{
    overlap o = { NAN, NAN, NAN, NAN, NAN, NAN, NAN, { "" } };
    sentence_set(&o.why, "%s", why);
    return o;
}

/* Sets the fraction, or why there is none. */
static void judge(overlap *o, double fraction, double uncertainty)
{
    const double nearest = fmin(fmax(fraction, 0), 1);
    if (!(uncertainty < 1))
        sentence_set(&o->why, "the exchange takes no longer than the uncertainty of its time, %.3g ms",
                     uncertainty * o->comm_s * 1e3);
    else if (fabs(fraction - nearest) > uncertainty)
        sentence_set(
            &o->why,
            fraction < 0
                ? "a step with its exchange takes longer than both one after the other, by %.2f of the "
                  "exchange's time"
                : "a step with its exchange is shorter than one without it, by %.2f of the exchange's time",
            fraction < 0 ? -fraction : fraction - 1);
    else {
        o->hidden_fraction = nearest;
        o->hidden_uncertainty = uncertainty;
    }
}

overlap overlap_of(const double *with_s, const double *without_s, const double *comm_s, int pairs)
{
    double visible_s[OVERLAP_PAIRS_MAX];
    assert(pairs >= OVERLAP_PAIRS_LEAST && pairs <= OVERLAP_PAIRS_MAX);
    for (int i = 0; i < pairs; i++) visible_s[i] = with_s[i] - without_s[i];
    const median visible = median_of(visible_s, pairs), comm = median_of(comm_s, pairs);
    overlap o = overlap_none("");
    o.step_s = median_of(with_s, pairs).middle;
    o.step_without_comm_s = median_of(without_s, pairs).middle;
    o.comm_s = comm.middle;
    o.visible_s = visible.middle;
    o.uncertainty_s = uncertainty_of(visible);
    const double ratio = o.visible_s / o.comm_s;
    /* to first order, both at their worst */
    judge(&o, 1 - ratio, (o.uncertainty_s + fabs(ratio) * uncertainty_of(comm)) / o.comm_s);
    return o;
}

/* ---- what is measured ---- */

enum { ROUNDS = 5 };
static const size_t host_copy_bytes = (size_t)1 << 31; /* of fields larger than a device's memory: more
                                                        * tells no more */

static double copy_once_s(sim *s, int repeats, size_t bytes)
{
    device *d = s->dev;
    sim_field field[SIM_FIELDS_MAX];
    (void)sim_fields(s, field); /* two at least */
    watchdog_phase("calibrate");
    MPI_CHECK(ranks_barrier(s->top.comm));
    sim_stamp(s);
    for (int i = 0; i < repeats; i++)
        DEVICE_CALL(d, copy, field[1].cells, field[0].cells, bytes, s->streams.stream[0]);
    return sim_since_stamp_s(s) / repeats;
}

static void measure_ceiling(sim *s, calibrate_result *r)
{
    size_t bytes = s->plan.grid.shape.bytes;
    if (!config_kind_of(s->cfg)->stencil && s->plan.transposed_grid.shape.bytes < bytes)
        bytes = s->plan.transposed_grid.shape.bytes;
    if (s->plan.in_host_memory && bytes > host_copy_bytes) bytes = host_copy_bytes;
    (void)copy_once_s(s, 1, bytes);
    const int repeats =
        trial_repeats(timer_slowest_s(copy_once_s(s, 1, bytes), s->top.comm), 10e-3, 2, WEFT_SIM ? 2 : 200);
    double best_s = INFINITY; /* a ceiling is the best that was seen: whatever disturbs a copy is not the
                               * memory's limit */
    for (int i = 0; i < ROUNDS; i++) best_s = fmin(best_s, copy_once_s(s, repeats, bytes));
    /* which no load of the machine brings about */
    if (fault_asked("slow_rank") >= 0 && s->top.rank == s->top.ranks - 1) best_s *= 1e6;
    const double mine = 2 * (double)bytes / best_s; /* read and written */
    r->ceiling_bytes_per_s = timer_over_ranks(mine, s->top.comm).sum;
    r->copies = timer_straggler_of(1 / mine, s->top.host, s->top.comm);
}

static double steps_s(sim *s, bool exchange, int count)
{
    watchdog_phase("calibrate"); /* each measurement is progress */
    return sim_pass_s(s, exchange, count);
}

static double exchanges_s(sim *s, int count)
{
    watchdog_phase("calibrate");
    return sim_exchange_s(s, count);
}

/* Steps with and without the exchange in alternating pairs, so that a drift of the machine reaches both
 * alike. Where they turn out longer than planned, the fewest pairs do. */
static overlap measure_overlap(sim *s)
{
    (void)steps_s(s, true, 2);
    (void)exchanges_s(s, 2);
    const double one_s = steps_s(s, true, 2);
    const double passes = (double)s->cfg->time.steps / s->plan.block_steps;
    const double batch_s = fmin(50e-3, fmax(2e-3, 0.1 * one_s * passes)); /* short runs calibrate shortly */
    const int steps = trial_repeats(one_s, batch_s / 3, 1, 700);
    const int exchanges = trial_repeats(exchanges_s(s, 2), batch_s / 3, 1, 700);
    double with_s[OVERLAP_PAIRS_MAX], without_s[OVERLAP_PAIRS_MAX], comm_s[OVERLAP_PAIRS_MAX];
    (void)steps_s(s, true, steps); /* as many for the first time: graphs are captured */
    (void)steps_s(s, false, steps);
    int pairs = 0;
    const double begin_s = timer_now_s();
    for (; pairs < OVERLAP_PAIRS_MAX; pairs++) {
        if (pairs >= OVERLAP_PAIRS_LEAST &&
            timer_slowest_s(timer_now_s() - begin_s, s->top.comm) > 3 * ROUNDS * batch_s)
            break;
        const bool first = pairs % 2 == 0;
        for (int half = 0; half < 2; half++) {
            const bool exchange = (half == 0) == first;
            (exchange ? with_s : without_s)[pairs] = steps_s(s, exchange, steps);
        }
        comm_s[pairs] = exchanges_s(s, exchanges);
    }
    return overlap_of(with_s, without_s, comm_s, pairs);
}

/* From an idle device, and with few enough steps that its queue is never full: then the host would wait for
 * the device. */
static double measure_host(sim *s)
{
    enum { STEPS_MAX = 32 };
    const int steps = trial_repeats(steps_s(s, true, 2), 5e-3, 2, STEPS_MAX);
    double enqueue_s[ROUNDS + 1];
    for (int i = 0; i <= ROUNDS; i++) { /* the first warms up */
        sim_wait(s);
        MPI_CHECK(ranks_barrier(s->top.comm));
        const double begin_s = timer_now_s();
        sim_take(s, steps * s->plan.block_steps, true);
        enqueue_s[i] = (timer_now_s() - begin_s) / (steps * s->plan.block_steps);
    }
    sim_wait(s);
    return timer_slowest_s(timer_percentiles_of(enqueue_s + 1, ROUNDS).p50, s->top.comm);
}

/* NULL, or why steps are not timed in pairs: simulated seconds have no noise; a visit to the device begins
 * when all ghosts are there, and takes long; a persistent pass exchanges within. */
static const char *not_in_pairs(const sim *s)
{
    if (WEFT_SIM) return "in a simulation only the exchange alone is measured";
    if (s->plan.persistent) return "passes exchange within, while cells stay in registers";
    return s->plan.window.slot_rows > 0 ? "rows stream through the device after the exchange" : NULL;
}

static overlap measure_exchange(sim *s)
{
    const char *why = not_in_pairs(s);
    if (!why) return measure_overlap(s);
    overlap o = overlap_none(why);
    o.comm_s = exchanges_s(s, 2);
    return o;
}

calibrate_result calibrate(sim *s)
{
    calibrate_result r = { .overlap = overlap_none("there is no halo exchange"), .host_step_s = NAN };
    sim_touch(s);
    measure_ceiling(s, &r);
    const bool has_halo = config_kind_of(s->cfg)->transposes == 0;
    if (!has_halo) r.overlap = overlap_none("it is not measured for kinds with transposes");
    if (agree_any(has_halo && halo_neighbours(s->pass.halo) > 0, s->top.comm)) {
        sim_touch(s);
        r.overlap = measure_exchange(s);
    }
    if (has_halo && s->dev->kind != DEVICE_HOST) {
        sim_touch(s);
        r.host_step_s = measure_host(s);
    }
    return r;
}
