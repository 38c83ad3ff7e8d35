/* Everything that a run holds: topology, device, decompositions, fields, passes, streams; what was chosen for
 * the choices that the deck left open; and what can be asked of it. sim_setup.c makes it and destroys it,
 * sim_state.h fills and reads its fields, sim_advance.c takes its steps. Which buffers a kind needs:
 *
 *   linear kinds  now: the present level; next: where the next step or pass leaves its own. Of two levels a
 *                 step writes over the level before (next.u is now.prev, next.prev is now.u), and a block of
 *                 steps, which cannot, has four fields
 *   transpose     now.u: A; transposed.field[0]: B
 *   sweep         now.u and next.u for the x pass; transposed.field[0..1] for the y pass, which runs on the
 *                 transposed field
 */
#pragma once

#include "config/config.h"
#include "exchange/redist.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "state/state.h"
#include "step/step.h"
#include "topology/topology.h"
#include "transports/peer.h"

enum { SIM_FIELDS_MAX = 4 };

typedef struct sim_field {
    void *cells; /* device memory, laid out as the grid says */
    const plan_grid *grid;
} sim_field;

/* Seconds of sim_create on this rank. */
typedef struct sim_create_seconds {
    double device_s; /* who shares the host, and the device's context */
    double fields_s;
    double transport_s; /* probes and trials of transports */
    double passes_s;    /* streams, halos, graphs; trials of blocks of steps */
    double tune_s;      /* trials of variants */
} sim_create_seconds;

/* Kinds with transposes have this besides. */
typedef struct sim_transposed {
    void *field[2];
    step_pass pass;    /* over the transposed field, of kinds that go by lines */
    redist *to, *from; /* from: back, of the same kinds */
} sim_transposed;

/* The initial value. */
typedef struct sim_formula {
    bool there; /* false: a file has it */
    problem_tables tables;
    void *device_tables; /* a copy, where the kernels read them */
    value initial;       /* tables.base with those pointers */
} sim_formula;

/* Through which persistent passes exchange (device.h). */
typedef struct sim_persistent {
    peer *peers;              /* NULL: no such pass was tried or taken */
    persistent_memory memory; /* this rank's, and that of those that own the rows above and below */
} sim_persistent;

typedef struct sim {
    const config *cfg;
    problem prob;
    topology top;
    device *dev;

    plan plan;

    step_levels now, next;
    step_streams streams;
    step_pass pass;
    sim_transposed transposed;
    sim_persistent persistent;
    graph_batch *batch;           /* feed graph; NULL: steps are enqueued one by one */
    sim_formula formula;

    device_event *stamp[2];           /* timed: sim_stamp's */
    uint64_t *result;                 /* device memory: what a reduction leaves */
    uint64_t *result_host;            /* pinned */
    void *snapshot[STATE_FIELDS_MAX]; /* pinned: own cells, dense rows; each made when first needed */
    bool touched;                     /* no step was taken since sim_touch */
    int64_t level;                    /* now's: steps done since step 0 */
    int64_t passes;                   /* that made levels, each of a block of steps */
    int64_t norm_level;               /* whose norm came with its step last; -1: none has */
    sim_create_seconds created;
} sim;

/* sim_setup.c: a simulation as the plan has it (plan.h), but for the fields' values. Collective. On failure:
 * one sentence in why and an exit status (2: the deck does not fit these ranks; 3: no device, no memory);
 * sim_destroy is still called by the owner. how_long: the plan may try, on the fields, how long things take.
 */
int sim_create(sim *s, const config *cfg, bool how_long, sentence *why);
void sim_destroy(sim *s);

/* ---- sim_state.c ---- */

void sim_wait(sim *s); /* for everything enqueued */
int64_t sim_own_cells(const sim *s);

/* ---- sim_advance.c ---- */

/* A time stamp on the first stream; and the device's seconds from there to what has been enqueued since, for
 * which it waits. */
void sim_stamp(sim *s);
double sim_since_stamp_s(sim *s);

/* Steps, in whichever form: one by one, with in-kernel exchange, in blocks (temporal blocking), many in a
 * graph (graph_batch.c), or with transposes; and steps and exchanges that only measure. */

/* Before the first step: leaves nothing to be made in the loop. */
void sim_prepare_steps(sim *s);

typedef struct sim_request {
    int64_t steps;      /* at most, from 1: before the level that they make nothing is to be done */
    int64_t norm_every; /* levels that this divides want their norm: it comes with the step where the
                         * form can do that; 0: none */
    bool exchange;      /* as in step_job; always with transposes */
    step_probe *probe;  /* as in step_job, of one step or block; not with transposes */
} sim_request;
/* Enqueues one launch of the steps, and returns how many it has; s->level counts them. */
int sim_advance(sim *s, sim_request r);
void sim_take(sim *s, int64_t steps, bool exchange); /* all of them, for measuring */

/* max |u - previous u| of the step that made this level, over all ranks, NaN if there is any: of the present
 * level, or, where sim_norms_ride, of the last one before that wanted it. Waits for it; costs a pass over
 * both levels unless it came with the step. Collective. */
double sim_norm(sim *s, int64_t level);
/* Do all norms come with their steps, so that they can be read when the next step is under way? */
bool sim_norms_ride(const sim *s);
/* Back by one step, where norms ride: the level before is still there. */
void sim_undo_step(sim *s);

/* For measuring, seconds of the slowest rank, of a stencil alone: a pass (of a step or a block), the mean of
 * `count`, between time stamps on the device after a few that fill the pipeline, so that neither its filling
 * nor its draining counts; and an exchange of the present level's halo, the mean of `count` one by one. */
double sim_pass_s(sim *s, bool exchange, int count);
double sim_exchange_s(sim *s, int count);

/* Bytes this rank's device moves in one step, or in one block of steps, counted from what the kernels read
 * and write, halo and redistribution included. */
double sim_bytes_moved_per_pass(const sim *s);
/* Bytes that this rank sends then, to neighbours and in transposes. */
double sim_sent_bytes(const sim *s);

/* ---- sim_trial.c ---- */

/* Once the simulation is made: the kernel's variant. Its name is that of the kernel which takes the run's
 * steps. */
void sim_trial_choose_variant(sim *s);
const char *sim_trial_variant_name(const sim *s, int variant);
