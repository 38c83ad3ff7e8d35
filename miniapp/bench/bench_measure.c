/* One point of one rung: prepare, run once, verify, warm up, sample, destroy.
 *
 * A sample is the mean of as many repetitions as fill a millisecond, so that neither the resolution of an
 * event (half a microsecond) nor the gap between two launches counts. A rung that must have its stage set
 * anew (`before`) is timed one repetition at a time. The warm-up lasts until clocks, caches and page tables
 * have settled. The number of samples follows from a budget of time, so that all rungs of all families stay
 * within minutes; samples that scatter, as they do where the CPU or its page tables take part, get more of
 * it, until their median is known well enough. */
#include "bench/bench_measure.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/fp.h"
#include "ranks/check.h"
#include "ranks/fault.h"

enum { SAMPLES_USUAL = 20, SAMPLES_LEAST = 5, SAMPLES_MOST = 1000, REPEATS_MOST = 2000 };
static const double sample_s = 1e-3, warm_up_s = 10e-3, budget_s = 0.4, budget_of_scan_s = 0.05;
static const double patience = 4;        /* times the budget, for samples that scatter */
static const double median_error = 0.01; /* their spread over the root of their number, as a fraction of
                                          * the median */

void bench_create(bench *b, const bench_request *ask, device *d, const bench_world *world)
{
    *b = (bench){ .ask = ask, .d = d, .world = world, .meet = MPI_COMM_NULL };
    DEVICE_CHECK(d, d->bind_thread(d));
    DEVICE_CALL(d, stream_create, false, &b->stream);
    DEVICE_CALL(d, event_create, true, &b->from);
    DEVICE_CALL(d, event_create, true, &b->to);
}

void bench_destroy(bench *b)
{
    device *d = b->d;
    DEVICE_CALL(d, event_destroy, &b->to);
    DEVICE_CALL(d, event_destroy, &b->from);
    DEVICE_CALL(d, stream_destroy, &b->stream);
}

/* WEFT_FAULT=slow_gpu:RANK or slow_link:NUMBER: what comes next in the stream, such as the event that ends a
 * sample, waits longer. The others wait for their streams as well, so that the fault alone makes the
 * difference. */
static void enqueue_all(bench *b, ladder_case *c, int repeats)
{
    const double begin_s = timer_now_s();
    for (int i = 0; i < repeats; i++) DEVICE_CHECK(b->d, c->rung->enqueue(c));
    if (!b->world || (fault_asked("slow_gpu") < 0 && fault_asked("slow_link") < 0)) return;
    DEVICE_CALL(b->d, stream_sync, b->stream);
    fault_slows("slow_gpu", b->world->top->rank, begin_s);
    fault_slows("slow_link", b->world->link, begin_s);
}

/* Seconds of `repeats` repetitions on this rank, by the rung's clock. */
static double own_timed_s(bench *b, ladder_case *c, int repeats)
{
    device *d = b->d;
    double seconds = 0;
    if (c->rung->clock == LADDER_CLOCK_HOST) {
        const double begin_s = timer_now_s();
        enqueue_all(b, c, repeats);
        DEVICE_CALL(d, stream_sync, b->stream);
        return timer_now_s() - begin_s;
    }
    DEVICE_CALL(d, event_record, b->from, b->stream);
    enqueue_all(b, c, repeats);
    DEVICE_CALL(d, event_record, b->to, b->stream);
    DEVICE_CALL(d, event_sync, b->to);
    DEVICE_CALL(d, event_seconds, b->from, b->to, &seconds);
    return seconds;
}

/* The seconds of the slowest rank: all decide alike how often and how long. */
static double timed_s(bench *b, ladder_case *c, int repeats)
{
    if (c->rung->before) {
        DEVICE_CHECK(b->d, c->rung->before(c));
        DEVICE_CALL(b->d, stream_sync, b->stream);
    }
    if (c->world) MPI_CHECK(MPI_Barrier(b->world->top->comm));
    b->own_s = own_timed_s(b, c, repeats);
    if (c->world && fault_asked("slow_rank") == b->world->top->rank) b->own_s += 60; /* as no load does */
    return c->world ? timer_slowest_s(b->own_s, b->world->top->comm) : b->own_s;
}

static int clamp(double n, int least, int most) { return !(n > least) ? least : n > most ? most : (int)n; }

/* Repetitions in a sample: doubled until they fill it twice, so that one disturbance (another process's slice
 * of the core) does not leave a rung with short samples; which is the warm-up too. */
static int warm_up(bench *b, ladder_case *c, double *sample_lasts_s)
{
    int repeats = 1, filled = 0;
    double last_s = timed_s(b, c, 1), spent_s = last_s;
    while (!c->rung->before && repeats < REPEATS_MOST && filled < 2) {
        if (last_s >= sample_s) filled++;
        else repeats *= 2;
        if (filled < 2) spent_s += last_s = timed_s(b, c, repeats);
    }
    while (spent_s < warm_up_s && last_s > 1e-6) spent_s += last_s = timed_s(b, c, repeats);
    *sample_lasts_s = last_s;
    return repeats;
}

static void sample(bench *b, bench_point *p)
{
    ladder_case *const c = &p->of;
    double lasts_s = 0;
    p->repeats = warm_up(b, c, &lasts_s);
    const double affordable = (c->rung->scan_count > 0 ? budget_of_scan_s : budget_s) / lasts_s;
    const int asked = b->ask->samples;
    const int usual = asked ? asked : clamp(affordable, SAMPLES_LEAST, SAMPLES_USUAL);
    const int most = asked ? asked : clamp(patience * affordable, usual, SAMPLES_MOST);
    double *seconds = CHECK_ALLOC(malloc(2 * (size_t)most * sizeof *seconds)), *own_s = seconds + most;
    int count = 0;
    for (int next = usual; count < most; next = clamp(2.0 * count, 1, most)) {
        for (; count < next; count++) {
            seconds[count] = timed_s(b, c, p->repeats) / p->repeats;
            own_s[count] = b->own_s / p->repeats;
        }
        p->time_s = timer_percentiles_of(seconds, (size_t)count);
        p->spread = (p->time_s.p90 - p->time_s.min) / p->time_s.p50;
        if (p->spread <= median_error * sqrt((double)count)) break;
    }
    p->rate = c->work / p->time_s.p50;
    if (c->world && !c->uneven)
        p->slowest = timer_straggler_of(timer_percentiles_of(own_s, (size_t)count).p50, b->world->top->host,
                                        b->world->top->comm);
    free(seconds);
}

/* All threads: not every rung shares its work out by device_host_part, and prepare may load a library. */
static void default_environment(void)
{
#pragma omp parallel
    fp_default();
}

/* Run once, then ask whether it is right. */
static void verify(bench *b, ladder_case *c, ladder_verdict *v)
{
    device *d = b->d;
    if (c->rung->before) DEVICE_CHECK(d, c->rung->before(c));
    DEVICE_CHECK(d, c->rung->enqueue(c));
    DEVICE_CALL(d, stream_sync, b->stream);
    default_environment();
    *v = (ladder_verdict){ .right = true };
    DEVICE_CHECK(d, c->rung->verify(c, v));
    if (c->world) v->right = agree_or_say(v->right, &v->why, b->world->top->comm);
}

/* Where one rank has no memory, none goes on. */
static int prepare(const bench *b, const bench_item *item, ladder_case *c)
{
    const char *why = c->world ? item->family->refusal(item->rung, b->d->kind, b->world->top->ranks) : NULL;
    sentence_set(&c->missing, "%s", why ? why : "");
    int code = why ? 0 : item->rung->prepare(c);
    if (!code) code = b->d->stream_sync(b->d, b->stream);
    if (c->world) MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &code, 1, MPI_INT, MPI_MAX, b->world->top->comm));
    return code;
}

bool bench_measure(bench *b, const bench_item *item, int index, bench_point *p, sentence *why)
{
    ladder_case *const c = &p->of;
    *p = (bench_point){ .of = { .rung = item->rung,
                                .d = b->d,
                                .stream = b->stream,
                                .type = b->ask->type,
                                .ceiling_rate = NAN,
                                .world = bench_together(item->family) ? b->world : NULL },
                        .flops_per_byte = NAN,
                        .spread = NAN,
                        .rate = NAN,
                        .time_s = { NAN, NAN, NAN, NAN, NAN, NAN, 0 } };
    for (int i = 0; i < item->family->parameters; i++)
        c->value[i] = bench_request_value(b->ask, item, index, i);
    default_environment();
    const int code = prepare(b, item, c);
    if (code)
        sentence_set(why, "%s/%s could not be prepared: %s", item->family->name, item->rung->name,
                     b->d->error_text(code));
    const bool here = !code && !c->missing.text[0];
    p->verdict.right = b->trusted && here;
    if (!b->trusted && here) verify(b, c, &p->verdict);
    if (b->meet != MPI_COMM_NULL) MPI_CHECK(MPI_Barrier(b->meet));
    /* nothing wrong is ever timed */
    if (p->verdict.right && b->ask->samples != BENCH_SAMPLES_NONE) sample(b, p);
    if (item->rung->unit == LADDER_BYTES && c->flops > 0) p->flops_per_byte = c->flops / c->work;
    ladder_close(c);
    return code == 0;
}

double bench_ceiling_rate(bench *b, const char *name)
{
    sentence path, why;
    bench_item item;
    bench_point *const p = &b->ceiling[b->ceilings];
    if (!name || b->ask->samples == BENCH_SAMPLES_NONE) return NAN;
    for (int i = 0; i < b->ceilings; i++)
        if (strcmp(b->ceiling[i].of.rung->name, name) == 0) return b->ceiling[i].rate;
    sentence_set(&path, "ceiling/%s", name);
    if (!bench_request_find(b->d->kind, path.text, &item)) return NAN;
    assert(b->ceilings < BENCH_CEILINGS_MAX);
    (void)bench_measure(b, &item, 0, p, &why);
    b->ceilings++;
    return p->rate;
}

void bench_roof(bench *b, const bench_item *item, int index, bench_point *p)
{
    ladder_case *const c = &p->of;
    const bench_item beside = { .family = item->family, .rung = item->rung->beside };
    bench_point least;
    sentence why;
    if (isnan(p->rate)) return;
    if (beside.rung) {
        (void)bench_measure(b, &beside, index, &least, &why);
        c->ceiling_name = least.of.way;
        c->ceiling_rate = least.rate;
        return;
    }
    c->ceiling_name = item->rung->ceiling;
    c->ceiling_rate = bench_ceiling_rate(b, c->ceiling_name);
    if (isnan(p->flops_per_byte)) return;
    const double slope = bench_ceiling_rate(b, "fma") / p->flops_per_byte;
    if (c->ceiling_rate < slope) return;
    c->ceiling_name = "fma";
    c->ceiling_rate = slope;
}
