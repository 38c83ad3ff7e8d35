#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "files/figure.h"
#include "ranks/check.h"
#include "ranks/fault.h"
#include "ranks/ranks.h"
#include "ranks/timer.h"
#include "sim/sim.h"
#include "streaming/streaming.h"

/* The initial value, with a copy of its tables that the device reads. */
static void make_tables(sim *s)
{
    problem_tables t;
    value *v = &s->initial;
    problem_tables_make(&t, &s->prob, s->cfg, s->plan.grid.dec.own);
    *v = t.base;
    if (!t.block) return;
    DEVICE_CALL(s->dev, alloc, DEVICE_MEMORY_DEVICE, t.bytes, &s->device_tables);
    DEVICE_CALL(s->dev, copy, s->device_tables, t.block, t.bytes, s->streams.stream[0]);
    const double **const into[] = { &v->x.hi, &v->x.lo, &v->y.hi, &v->y.lo, &v->table };
    for (size_t i = 0; i < sizeof into / sizeof *into; i++)
        if (*into[i]) *into[i] = (const double *)s->device_tables + (*into[i] - t.block);
    sim_wait(s);
    problem_tables_free(&t);
}

/* The plan asks a device about blocks of steps. */
static int block_steps(const plan_question *q, int most, bool norm)
{
    device *d = ((sim *)q->owner)->dev;
    return d->temporal_steps(d, most, norm);
}

/* Collective: GPUs may be of several models. */
static bool persistent(const plan_question *q, int64_t nx, int64_t ny, const boundary *sides)
{
    const sim *s = q->owner;
    const field_shape rank = field_shape_make(s->prob.op.type, nx, ny, 0, 0);
    return agree_all(s->dev->persistent_bytes(s->dev, &rank, sides, q->ranks > 1) > 0, s->top.comm);
}

/* Memory of s->dev that this rank may fill. */
static plan_room room_of(const sim *s)
{
    device *d = s->dev;
    const double allowed = (double)s->cfg->run.device_memory_bytes;
    plan_room mine;
    mine.bytes = topology_free_bytes(&s->top, d, &mine.by);
    if (!d->through && allowed > 0) mine.bytes = fmin(mine.bytes, allowed);
    return mine;
}

/* Facts that differ from rank to rank are agreed on. */
static int make_plan(sim *s, const plan_through *through, bool how_long, sentence *why)
{
    device *d = s->dev;
    const topology *top = &s->top;
    const plan_room mine = room_of(s);
    plan_room *const room = CHECK_CALLOC(top->ranks, sizeof mine);
    sentence no_graphs;
    plan_question q = { .cfg = s->cfg,
                        .op = &s->prob.op,
                        .device = d->kind,
                        .through = through,
                        .threads = d->threads,
                        .rank = top->rank,
                        .ranks = top->ranks,
                        .hosts = top->hosts,
                        .host_of = top->where->of,
                        .most_on_device = top->ranks_on_device,
                        .room = room,
                        .mpi_claims_cuda = top->mpi_claims_cuda,
                        .block_steps = block_steps,
                        .persistent = persistent,
                        .owner = s };
    if (s->kind->stencil) DEVICE_CALL(d, stencil_bind, &s->prob.op);
    MPI_CHECK(ranks_allgather(&mine, sizeof mine, room, top->comm));
    MPI_CHECK(ranks_allreduce(&q.most_on_device, 1, MPI_INT, MPI_MAX, top->comm));
    sentence_set(&no_graphs, "%s", d->no_graphs ? d->no_graphs : "");
    if (!agree_or_say(!d->no_graphs, &no_graphs, top->comm)) q.no_graphs = no_graphs.text;
    sim_trial_answers(&q, how_long);
    const int status = plan_make(&s->plan, &q, why);
    free(room);
    return status;
}

/* A device keeps this part for itself beside what is asked of it: kernels' local memory, streams. */
static const double reserve_part = 1.0 / 32;

/* From now on the run's device is one whose fields are in host memory, and s->dev computes. The facts of that
 * are the same on all ranks. */
static plan_through stream_through(sim *s, const char *because)
{
    device *const through = s->dev;
    plan_through t = { .bytes = room_of(s).bytes,
                       .pass_steps = streaming_device_pass_steps,
                       .owner = through };
    sentence_set(&t.because, "%s", because);
    if (s->cfg->run.device_memory_bytes == 0) t.bytes -= reserve_part * t.bytes;
    MPI_CHECK(ranks_allreduce(&t.bytes, 1, MPI_DOUBLE, MPI_MIN, s->top.comm));
    const int code = streaming_create(through, topology_threads(&s->top, s->cfg->run.threads), &s->dev);
    s->dev = CHECK_ALLOC(s->dev);
    DEVICE_CHECK(s->dev, code);
    return t;
}

/* Streamed rows are slow where a program that is forgotten fills the device. fault.h: memory_taken:PERCENT */
static void note_taken_memory(sim *s, device *through)
{
    size_t free_bytes = 0, total_bytes = 0;
    sentence taken;
    DEVICE_CALL(through, memory_info, &free_bytes, &total_bytes);
    const int made_up = fault_asked("memory_taken");
    const size_t used_bytes = made_up < 0 ? total_bytes - free_bytes : total_bytes / 100 * (size_t)made_up;
    const bool asked = s->cfg->run.device_memory_bytes == 0 || made_up >= 0,
               by_others = asked && used_bytes > total_bytes / 10;
    sentence_set(&taken,
                 "other programs hold %s of the %s of the device of rank %d on %s: fields are in host "
                 "memory, and steps are slower",
                 figure_bytes((double)used_bytes).text, figure_bytes((double)total_bytes).text, s->top.rank,
                 s->top.host);
    if (!agree_or_say(!by_others, &taken, s->top.comm)) plan_add_note(&s->plan, false, "%s", taken.text);
}

/* Fields are on the device where they fit, or where the deck says so. */
static int make_plan_of_memory(sim *s, bool how_long, sentence *why)
{
    const config *c = s->cfg;
    device *const own = s->dev;
    sentence there = { "" };
    plan_through through;
    if (c->run.memory != CONFIG_MEMORY_HOST) {
        const int status = make_plan(s, NULL, how_long, why);
        /* than in the host's memory */
        const bool elsewhere = s->dev->kind == DEVICE_CUDA || c->run.device_memory_bytes > 0;
        if (status != CHECK_EXIT_ENVIRONMENT || c->run.memory == CONFIG_MEMORY_DEVICE || !elsewhere ||
            !s->kind->stencil)
            return status;
        there = *why;
    }
    through = stream_through(s, there.text[0] ? there.text : "run.memory asks for it");
    const int status = make_plan(s, &through, how_long, why);
    if (status == 0 && there.text[0]) note_taken_memory(s, own);
    if (status == 0 || !there.text[0]) return status;
    const sentence here = *why;
    return sentence_fail(CHECK_EXIT_ENVIRONMENT, why, "%s; %s", there.text, here.text);
}

/* With devices of several models the bits are the same, and steps are as fast as the slowest of them. */
static void note_other_devices(sim *s)
{
    char first[sizeof s->dev->name];
    sentence other;
    snprintf(first, sizeof first, "%s", s->dev->name);
    MPI_CHECK(ranks_bcast(first, sizeof first, MPI_CHAR, 0, s->top.comm));
    sentence_set(&other, "rank %d on %s computes on %s, rank 0 on %s", s->top.rank, s->top.host, s->dev->name,
                 first);
    if (!agree_or_say(strcmp(first, s->dev->name) == 0, &other, s->top.comm))
        plan_add_note(&s->plan, false, "%s", other.text);
}

int sim_create(sim *s, const config *cfg, bool how_long, sentence *why)
{
    sentence note;
    memset(s, 0, sizeof *s);
    s->cfg = cfg;
    s->kind = config_kind_of(cfg);
    double mark_s = timer_now_s();
    topology_create(&s->top);
    const int threads = topology_threads(&s->top, cfg->run.threads);
    s->dev = topology_device(&s->top, cfg->run.device, threads, why, &note);
    if (!s->dev) return CHECK_EXIT_ENVIRONMENT;
    s->phase_s[PHASE_DEVICE] = timer_lap_s(&mark_s);
    problem_make(&s->prob, cfg);
    problem_warn_of_growth(&s->prob, cfg);
    const int status = make_plan_of_memory(s, how_long, why);
    if (status != 0) return status;
    if (note.text[0]) plan_add_note(&s->plan, false, "%s", note.text);
    if (s->top.hosts > 1) note_other_devices(s);
    if (cfg->output.trace[0] && s->kind->transposes > 0)
        plan_add_note(&s->plan, true,
                      "output.trace: there is no timeline for kind %s, only for kinds without transposes; "
                      "none is written",
                      kind_name(cfg->problem.kind));
    if (s->prob.warning[0]) plan_add_note(&s->plan, false, "%s", s->prob.warning);
    sim_make_parts(s);
    make_tables(s);
    s->phase_s[PHASE_PASSES] = timer_lap_s(&mark_s) - s->phase_s[PHASE_FIELDS] - s->phase_s[PHASE_TRANSPORT];
    return 0;
}
