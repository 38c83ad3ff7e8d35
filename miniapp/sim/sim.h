/* Everything that a run holds: topology, device, decompositions, fields, passes, streams; what was chosen for
 * the choices that the deck left open; and what can be asked of it. sim_setup.c makes it and destroys it,
 * sim_state.h fills and reads its fields, sim_advance.h takes its steps. Which buffers a kind needs:
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

enum { SIM_FIELDS_MAX = 4 };

typedef struct sim_field {
    void *cells; /* device memory, laid out as the grid says */
    const plan_grid *grid;
} sim_field;

/* Seconds that sim_create took on this rank, for the start-up's account. */
typedef struct sim_create_seconds {
    double device_s; /* who shares the host, and the device's context */
    double fields_s;
    double transport_s;  /* probes and trials of transports */
    double passes_s;     /* streams, halos, graphs; trials of blocks of steps */
    double tune_s;       /* trials of variants */
    double transports_s; /* transport_s of the slowest rank */
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
    persistent_links *persistent; /* NULL: no persistent pass was tried or taken */
    graph_batch *batch;           /* feed graph; NULL: steps are enqueued one by one */
    sim_formula formula;

    device_event *stamp[2];           /* timed: sim_stamp's */
    uint64_t *result;                 /* device memory: what a reduction leaves */
    uint64_t *result_host;            /* pinned */
    void *snapshot[STATE_FIELDS_MAX]; /* pinned: own cells, dense rows; each made when first needed */
    bool touched;                     /* the present level is as sim_touch left it: no trial has taken a step
                                       * since */
    int64_t level;                    /* now's: steps done since step 0 */
    int64_t passes;                   /* that made levels, each of a block of steps */
    int64_t norm_level;               /* whose norm came with its step last; -1: none has */
    sim_create_seconds created;
} sim;

/* sim_setup.c: a simulation as the plan has it (plan.h). Collective. Creates everything but the fields'
 * values. On failure: one sentence in why, an exit status other than 0 (2: the deck does not fit these ranks;
 * 3: no device); sim_destroy is still called by the owner. how_long: the plan may try how long what it
 * chooses from takes, on the fields. */
int sim_create(sim *s, const config *cfg, bool how_long, sentence *why);
void sim_destroy(sim *s);

/* Waits for everything enqueued. */
void sim_wait(sim *s);

/* A time stamp on the first stream; and the device's seconds from there to what has been enqueued since, for
 * which it waits. */
void sim_stamp(sim *s);
double sim_since_stamp_s(sim *s);

int64_t sim_own_cells(const sim *s);
/* Device memory of this rank: all fields with ghosts and padding, and the messages of a redistribution. */
double sim_memory_bytes(const sim *s);
/* Bytes this rank's device moves in one step, or in one block of steps, counted from what the kernels read
 * and write, halo and redistribution included. */
double sim_bytes_moved_per_pass(const sim *s);
/* Bytes that this rank sends then: to neighbours; in transposes. */
double sim_halos_sent_bytes(const sim *s);
double sim_transposes_sent_bytes(const sim *s);
/* Cells that this rank computes in a block of steps beyond its own cells times the steps, as a fraction of
 * these. */
double sim_redundant_fraction(const sim *s);

/* ---- sim_trial.c ---- */

/* Once the simulation is made: the kernel's variant. Its name is that of the kernel which takes the run's
 * steps. */
void sim_trial_choose_variant(sim *s);
const char *sim_trial_variant_name(const sim *s, int variant);
