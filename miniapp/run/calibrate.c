#include "run/loop.h"

#include <math.h>
#include <string.h>

#include "ranks/check.h"
#include "ranks/fault.h"
#include "ranks/ranks.h"
#include "ranks/trial.h"
#include "run/watchdog.h"

/* ---- what pairs show ---- */

/* The median and the longer half of its confidence interval: by the binomial distribution the second smallest
 * and the second largest of 9 samples enclose the median with 96 %, whatever the distribution. */
static double median_of(const double samples[OVERLAP_PAIRS], double *uncertainty)
{
    double sorted[OVERLAP_PAIRS];
    memcpy(sorted, samples, sizeof sorted);
    const double middle = timer_percentiles_of(sorted, OVERLAP_PAIRS).p50; /* which sorts them */
    *uncertainty = fmax(sorted[OVERLAP_PAIRS - 2] - middle, middle - sorted[1]);
    return middle;
}

/* Nothing was measured. */
static overlap overlap_none(const char *why)
{
    overlap o = { NAN, NAN, NAN, NAN, NAN, NAN, NAN, { "" } };
    sentence_set(&o.why, "%s", why);
    return o;
}

overlap overlap_of(const double with_s[OVERLAP_PAIRS], const double without_s[OVERLAP_PAIRS],
                   const double comm_s[OVERLAP_PAIRS])
{
    double visible_s[OVERLAP_PAIRS], of_comm_s, of_step_s;
    for (int i = 0; i < OVERLAP_PAIRS; i++) visible_s[i] = with_s[i] - without_s[i];
    overlap o = overlap_none("");
    o.step_s = median_of(with_s, &of_step_s);
    o.step_without_comm_s = median_of(without_s, &of_step_s);
    o.comm_s = median_of(comm_s, &of_comm_s);
    o.visible_s = median_of(visible_s, &o.uncertainty_s);
    const double ratio = o.visible_s / o.comm_s;
    /* to first order, both at their worst */
    const double uncertainty = (o.uncertainty_s + fabs(ratio) * of_comm_s) / o.comm_s;
    if (uncertainty < 1) {
        o.hidden_fraction = fmin(fmax(1 - ratio, 0), 1);
        o.hidden_uncertainty = uncertainty;
    } else {
        sentence_set(&o.why, "the exchange takes no longer than the uncertainty of its time, %.3g ms",
                     uncertainty * o.comm_s * 1e3);
    }
    return o;
}

/* ---- what is measured ---- */

enum { ROUNDS = 5 };
static const size_t host_copy_bytes = (size_t)1 << 31; /* of fields larger than a device's memory: more
                                                        * tells no more */

static double copy_once_s(sim *s, int repeats, size_t bytes)
{
    device *d = s->dev;
    watchdog_phase("calibrate");
    MPI_CHECK(ranks_barrier(s->top.comm));
    sim_stamp(s);
    for (int i = 0; i < repeats; i++)
        DEVICE_CALL(d, copy, s->field[1].cells, s->field[0].cells, bytes, s->streams.stream[0]);
    return sim_since_stamp_s(s) / repeats;
}

static void measure_ceiling(sim *s, calibrate_result *r)
{
    const size_t from_bytes = s->field[0].grid->shape.bytes, to_bytes = s->field[1].grid->shape.bytes;
    size_t bytes = from_bytes < to_bytes ? from_bytes : to_bytes;
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

/* Steps with and without the exchange in alternating pairs, so that a drift of the machine reaches both
 * alike. */
static overlap measure_overlap(sim *s)
{
    (void)sim_pass_s(s, true, 2);
    (void)sim_exchange_s(s, 2);
    const double one_s = sim_pass_s(s, true, 2);
    const double passes = (double)s->cfg->time.steps / s->plan.block_steps;
    const double batch_s = fmin(50e-3, fmax(2e-3, 0.1 * one_s * passes)); /* short runs calibrate shortly */
    const int steps = trial_repeats(one_s, batch_s / 3, 1, 700);
    const int exchanges = trial_repeats(sim_exchange_s(s, 2), batch_s / 3, 1, 700);
    double with_s[OVERLAP_PAIRS], without_s[OVERLAP_PAIRS], comm_s[OVERLAP_PAIRS];
    (void)sim_pass_s(s, true, steps); /* as many for the first time: graphs are captured */
    (void)sim_pass_s(s, false, steps);
    for (int i = 0; i < OVERLAP_PAIRS; i++) {
        watchdog_phase("calibrate"); /* each pair is progress */
        if (i % 2 == 0) with_s[i] = sim_pass_s(s, true, steps);
        without_s[i] = sim_pass_s(s, false, steps);
        if (i % 2 != 0) with_s[i] = sim_pass_s(s, true, steps);
        comm_s[i] = sim_exchange_s(s, exchanges);
    }
    return overlap_of(with_s, without_s, comm_s);
}

calibrate_result calibrate(sim *s)
{
    calibrate_result r = { .overlap = overlap_none("there is no halo exchange") };
    sim_touch(s);
    measure_ceiling(s, &r);
    if (s->kind->transposes > 0) {
        r.overlap = overlap_none("it is not measured for kinds with transposes");
        return r;
    }
    if (!agree_any(halo_neighbours(s->pass.halo) > 0, s->top.comm)) return r;
    /* simulated seconds have no noise; a visit begins when all ghosts are there, and takes long */
    const char *alone = s->plan.window.slot_rows > 0 ? "rows stream through the device after the exchange"
                        : s->plan.persistent ? "passes exchange within, while cells stay in registers"
                        : WEFT_SIM           ? "in a simulation only the exchange alone is measured"
                                             : NULL;
    r.overlap = alone ? overlap_none(alone) : measure_overlap(s);
    if (alone) r.overlap.comm_s = sim_exchange_s(s, 2);
    return r;
}
