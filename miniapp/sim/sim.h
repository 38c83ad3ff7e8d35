/* Everything that a run holds: topology, device, decompositions, fields, passes, streams; what was chosen for
 * the choices that the deck left open; and what can be asked of it. Which buffers a kind needs:
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
#include "state/state_write.h"
#include "step/step.h"
#include "topology/topology.h"
#include "transports/peer.h"

enum { SIM_FIELDS_MAX = 4 };

typedef struct sim_field {
    void *cells; /* device memory, laid out as the grid says */
    const plan_grid *grid;
} sim_field;

/* The parts of a run whose time is told (report.c has their names, and which contains which). */
typedef enum sim_phase {
    PHASE_RUN, /* all of it, to the verdict */
    PHASE_START_UP,
    PHASE_MPI,    /* MPI_Init, and reading the deck */
    PHASE_DEVICE, /* who shares the host, and the device's context */
    PHASE_FIELDS,
    PHASE_TRANSPORT, /* probes and trials of transports */
    PHASE_PASSES,    /* streams, halos, graphs; trials of blocks of steps */
    PHASE_TUNE,      /* trials of variants */
    PHASE_CALIBRATE,
    PHASE_INITIALISE,
    PHASE_WRITER,
    PHASE_LOOP,
    PHASE_STEPS, /* no norm, checkpoint or series took it */
    PHASE_NORM,
    PHASE_CHECKPOINT,
    PHASE_SERIES, /* levels that the run keeps */
    PHASE_OUTPUT,
    PHASE_VERIFY,
    PHASES
} sim_phase;

/* Kinds with transposes have this besides. */
typedef struct sim_transposed {
    void *field[2];
    step_pass pass;    /* over the transposed field, of kinds that go by lines, */
    redist *to, *from; /* and back */
} sim_transposed;

/* Through which persistent passes exchange (device.h). */
typedef struct sim_persistent {
    peer *peers;              /* NULL: no such pass was tried or taken */
    persistent_memory memory; /* this rank's, and that of those that own the rows above and below */
} sim_persistent;

/* A level put aside (snapshot.c). */
enum { SIM_ASIDE_EVENTS = 4 };
typedef struct sim_aside {
    device_stream *stream;          /* of low priority; NULL: nothing is prepared */
    device_event *event[SIM_ASIDE_EVENTS];
    void *copy[STATE_FIELDS_MAX];   /* device memory, laid out as the fields; NULL: copied directly */
    uint64_t *shares, *shares_host; /* fingerprints of the own cells, on the device and on the host */
} sim_aside;

typedef struct sim {
    const config *cfg;
    const kind_row *kind;
    problem prob;
    topology top;
    device *dev;

    plan plan;

    sim_field field[SIM_FIELDS_MAX]; /* each once, in the order in which they were made */
    int fields;
    step_levels now, next; /* of these */
    step_streams streams;
    step_pass pass;
    sim_transposed transposed;
    sim_persistent persistent;
    value initial;       /* unless a file has it, */
    void *device_tables; /* and what it points into */

    device_event *stamp[2];           /* timed: sim_stamp's */
    uint64_t *result;                 /* device memory: what a reduction leaves */
    uint64_t *result_host;            /* pinned */
    void *snapshot[STATE_FIELDS_MAX]; /* pinned: own cells, dense rows; each made when first needed */
    bool touched;                     /* no step was taken since sim_touch */
    int64_t level;                    /* now's: steps done since step 0 */
    int64_t passes;                   /* that made these levels, each of a step or block */
    int64_t norm_level;               /* whose norm came with its step last; -1: none has */
    sim_aside aside;
    bool aware_asked;       /* does MPI take device buffers? */
    sentence no_aware;      /* it does not, since ...; "": it does */
    double phase_s[PHASES]; /* of this rank */
} sim;

/* ---- sim_setup.c ---- */

/* A simulation as the plan has it (plan.h), but for the fields' values. Collective. On failure: one sentence
 * in why and an exit status (2: the deck does not fit these ranks; 3: no device, no memory); sim_destroy is
 * still called by the owner. how_long: the plan may try, on the fields, how long things take. */
int sim_create(sim *s, const config *cfg, bool how_long, sentence *why);
void sim_destroy(sim *s);

/* ---- sim_state.c: the fields' values: where they come from, where they go, what is measured on them ---- */

void sim_wait(sim *s); /* for everything enqueued */
int64_t sim_own_cells(const sim *s);
/* The fields of the present level, in the order of a state file. Returns how many. */
int sim_level_fields(const sim *s, sim_field field[STATE_FIELDS_MAX]);
/* The one that stands for all of them: /fields/u, or /fields/b. */
sim_field sim_main_field(const sim *s);

/* Every own cell of every buffer gets a random value in [-1, 1): first touch by the threads that will own the
 * rows, and something to time on that is not zero. Again only after steps: many of them leave nothing, or
 * infinities. */
void sim_touch(sim *s);
/* Level 0 from the formula or the file named in the deck. Status 0, 2 or 3 with a sentence. */
int sim_initialise(sim *s, sentence *why);
/* The level of a state. STATE_* as in state_status.h. */
state_status sim_load(sim *s, const state_info *from, sentence *why);
/* The level as a state file's, all but its fingerprints and what is in its buffers (which are allocated, and
 * stay the sim's). deck_text must outlive it. */
void sim_state_describe(sim *s, const char *deck_text, state_level *level);

/* The number that a reduction has left on this rank's device; waits for it. */
uint64_t sim_result(sim *s);
/* The largest over all ranks of a number that is given by its bits (cell_abs_bits); NaN if there is any. */
double sim_most(const sim *s, uint64_t mine);
/* The fingerprint of the present level's main field. All ranks get it. */
uint64_t sim_fingerprint(sim *s);
/* The cells of the main field that are NaN or infinite, over all ranks, and the first of them in file order.
 * Takes as long as a norm, where there are some as a copy to the host. Collective. */
int64_t sim_cells_not_finite(sim *s, int64_t *first_x, int64_t *first_y);
/* The main field's own cells in host memory of the sim, dense rows; valid until the next such copy, level put
 * aside, or step. */
void *sim_host_copy(sim *s);

/* Debug builds: WEFT_FAULT=cell adds 1e-3 to one cell of rank 0's result, so that tests see the verifier
 * fail. Else nothing. */
void sim_inject_fault(sim *s);

/* Where fields are in host memory and a visit to the device takes many steps, what is put aside goes where
 * the next level will be, and takes no memory of its own. No step may be taken while it is in use. */
bool sim_has_free_level(const sim *s);

/* ---- sim_advance.c: steps in each form (one by one, with in-kernel exchange, in blocks, many in a graph,
 * with transposes); steps and exchanges that only measure ---- */

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

/* A time stamp on the first stream; and the device's seconds from there to what has been enqueued since, for
 * which it waits. */
void sim_stamp(sim *s);
double sim_since_stamp_s(sim *s);
/* Seconds of the slowest rank, of a stencil alone, the mean of `count`: a pass (of a step or a block), after
 * a few that fill the pipeline, so that neither its filling nor its draining counts; and an exchange of the
 * present level's halo, one by one. */
double sim_pass_s(sim *s, bool exchange, int count);
double sim_exchange_s(sim *s, int count);

/* Bytes this rank's device moves in one step, or in one block of steps, counted from what the kernels read
 * and write, halo and redistribution included. */
double sim_bytes_moved_per_pass(const sim *s);
/* Bytes that this rank sends then, to neighbours and in transposes. */
double sim_sent_bytes(const sim *s);

/* ---- snapshot.c: a level put aside for a state file while the next steps overwrite it ---- */

void snapshot_prepare(sim *s); /* allocates all that is needed; once */
void snapshot_destroy(sim *s);
/* Puts the level aside, described as sim_state_describe does, where what was put aside before is lost.
 * Enqueues only. The request to write it, for which steps are idle when all is done that was enqueued before
 * snapshot_mark, or before the level was taken. */
state_request snapshot_take(sim *s, const char *deck_text);
void snapshot_mark(sim *s);

/* ---- sim_trial.c ---- */

/* Once the simulation is made: the kernel's variant, and its name. */
void sim_trial_choose_variant(sim *s);

/* q's trial, of a few passes and exchanges on the own fields of the sim that owns q, of which the slowest
 * rank decides. Collective; it costs the fields' values. how_long: else only what can be had is asked. */
void sim_trial_answers(plan_question *q, bool how_long);

/* ---- sim_parts.c: the parts of a simulation, made as its plan has them; what is there already stays. For
 * sim_create, and for the trials that the plan asks for while it is made. All but sim_make_fields are
 * collective; false with the reason, on all ranks, where a part cannot be had ---- */

void sim_make_fields(sim *s);
/* Streams and the passes of stencils; the pass anew where the plan now takes other blocks of steps. */
void sim_make_passes(sim *s);
/* The memory and links of persistent passes. */
bool sim_make_persistent(sim *s, sentence *why);
/* The distributed transposes. */
bool sim_make_redists(sim *s, transport_kind over, sentence *why);
/* All of them, once the plan is complete. */
void sim_make_parts(sim *s);
