/* Ownership of everything a run holds: topology, device, decompositions, fields, passes, streams; and what was chosen
 * for the choices the deck left open. The only file that knows which buffers a kind needs:
 *
 *   linear kinds  now: the present level; next: where the next step or sweep leaves its own. Of two levels a step writes over the
 *                 level before (next.u is now.prev, next.prev is now.u), and a fused sweep, which cannot, has four fields
 *   transpose     now.u: A; turned[0]: B
 *   sweep         now.u and next.u for the x pass; turned[0..1] for the y pass, which runs on the transposed field
 */
#ifndef SIM_H
#define SIM_H

#include "checkpoint.h"
#include "config.h"
#include "problem.h"
#include "redist.h"
#include "route.h"
#include "step.h"
#include "topology.h"
#include "train.h"

enum { SIM_NOTES_MAX = 12, SIM_FIELDS_MAX = 4 };

typedef struct sim_note { /* what a user should know, one sentence */
    bool asked; /* about something the deck asked for and cannot have here; else about the machine or the problem */
    char text[512];
} sim_note;

typedef struct sim_grid { /* one global field's layout over the ranks */
    decomp dec;
    field_shape shape;
} sim_grid;

typedef struct sim_field {
    void *cells; /* device memory, laid out as the grid says */
    const sim_grid *grid;
} sim_field;

/* What sim_create took on this rank, for the start-up's account. */
typedef struct sim_create_seconds {
    double device_s;    /* who shares the host, and the device's context */
    double fields_s;
    double transport_s; /* probes and trials of sim_choose_transports */
    double passes_s;    /* feed, streams, halos, trials of fused sweeps and of graphs */
} sim_create_seconds;

/* Sweeps of the longest and the next fewer steps, and single steps, each with an exchange and nothing beside it; of the slowest
 * rank. */
enum { SIM_FUSE_TRIALS_MAX = 2 };
typedef struct sim_fuse_trial {
    int count; /* 0: nothing was tried */
    int steps[SIM_FUSE_TRIALS_MAX];
    double step_s[SIM_FUSE_TRIALS_MAX], single_step_s;
    int best; /* of count */
} sim_fuse_trial;

/* Fused sweeps in the order of the split step, and joined (step.h); of the slowest rank. */
typedef struct sim_order_trial {
    bool tried;
    double split_s, joined_s;
} sim_order_trial;

typedef struct sim {
    const config *cfg;
    problem prob;
    topology top;
    device *dev;

    halo_transport transport;             /* of most links; of the redistributions where there are no halos */
    halo_choice choice, turned_choice;    /* of pass and turned_pass */
    halo_transport redist_transport;
    bool routed;                          /* route says what transport, choice and turned_choice were chosen from */
    route route;
    config_feed feed;
    int lanes, fuse;                      /* fuse: steps of a sweep at most */
    bool sparing;
    sim_fuse_trial fuse_trial;
    sim_order_trial order_trial;
    sim_note notes[SIM_NOTES_MAX];
    int notes_count;

    sim_grid grid, turned_grid; /* turned: (nx, ny) of transpose and sweep */
    step_levels now, next;
    void *turned[2];
    step_streams streams;
    step_pass pass, turned_pass;
    train *train;                /* feed graph; NULL: steps are enqueued one by one */
    redist *to_turned, *from_turned;
    problem_tables tables;       /* the initial value as a formula; its tables are copied to the device */
    void *device_tables;         /* ... here, where the kernels read them */
    value initial;               /* tables.base with those pointers */
    bool has_formula;            /* false for a file */

    device_event *stamp[2];      /* timed, for whoever measures between steps */
    uint64_t *result;            /* device memory: what a reduction leaves */
    uint64_t *result_host;       /* pinned */
    void *snapshot[CHECKPOINT_FIELDS_MAX]; /* pinned: own cells, dense rows; each made when first needed */
    bool touched;                /* the present level is as sim_touch left it: no trial has taken a step since */
    int64_t level;               /* now's: steps done since step 0 */
    int64_t sweeps;              /* of a fused pass, that made levels */
    int64_t change_level;        /* the level whose norm a sweep took last: this rank's is in `result` */
    sim_create_seconds created;
} sim;

/* Collective. Creates everything but the fields' values. On failure: one sentence in why, an exit status other than 0
 * (2: the deck does not fit these ranks; 3: no device); sim_destroy is still called by the owner. self_exe: argv[0]'s
 * real path, for the probe of device-aware MPI. sparing: the host gives memory to what is written, and of fields
 * that nobody will fill only what a trial steps over is. */
int sim_create(sim *s, const config *cfg, const char *self_exe, bool sparing, char *why, size_t why_bytes);
void sim_destroy(sim *s);

/* For sim_create: a sentence for the user, kept for the table and the record. */
__attribute__((format(printf, 3, 4))) void sim_add_note(sim *s, bool asked, const char *format, ...);
/* For sim_create, once there are grids and fields: transport, choice, turned_choice, redist_transport. Collective; costs the
 * fields' values. */
void sim_choose_transports(sim *s, const char *self_exe);

/* For sim_create, with the stencil bound: the steps of a sweep; where they are fewer than the deck asks for, why, as a sentence
 * part. Once the domain is cut, for sweeps that nobody asked for: whether the ranks are wide enough; the same on all ranks. */
int sim_choose_fuse(const sim *s, char *why, size_t why_bytes);
bool sim_fuse_has_room(const sim *s);
int sim_fuse_shorter(const sim *s); /* the next fewer steps than `fuse` to look at, 1 at the end */
/* For sim_create, once there are passes and nobody asked for a number of steps: how many of at most `fuse` a sweep should take,
 * 1 where single steps are no slower, by a short trial on the run's fields, all ranks at once. Collective; costs the fields'
 * values. */
int sim_fuse_try(sim *s);
/* For sim_create, of a fused pass: joined where that is faster, by a trial of a few sweeps; without trials where neighbours' memory
 * is reached. Collective; costs the fields' values. */
void sim_settle_order(sim *s);
/* For sim_create: feed and lanes without graphs; and, once there are passes, whether graphs it is. Collective. */
void sim_choose_feed(sim *s);
void sim_settle_feed(sim *s);
bool sim_turns(const sim *s); /* kinds with a transpose in their step */

/* The fields of s, each once: the present level's first, then the one that a step writes. Returns how many. */
int sim_fields(const sim *s, sim_field field[SIM_FIELDS_MAX]);
/* Those of the present level, in the order of a state file. Returns how many. */
int sim_level_fields(const sim *s, sim_field field[CHECKPOINT_FIELDS_MAX]);
/* The one that stands for all of them: /fields/u, or /fields/b. */
sim_field sim_main_field(const sim *s);

/* Every own cell of every buffer gets a random value in [-1, 1): first touch by the threads that will own the rows, and
 * something to time on that is not zero. Again only after steps: many of them leave nothing, or infinities. */
void sim_touch(sim *s);
void sim_touch_box(sim *s, box cells); /* of the own cells; for kinds without transposes */
/* Level 0 from the formula or the file named in the deck. Status 0, 2 or 3 with a sentence. */
int sim_initialise(sim *s, char *why, size_t why_bytes);
/* The level in a state file. CHECKPOINT_* as in checkpoint.h. */
checkpoint_status sim_load(sim *s, const char *path, char *why, size_t why_bytes);
/* The level as a state file's, all but its fingerprints and what is in its buffers (which are allocated, and stay the sim's).
 * deck_text must outlive it. */
void sim_state_describe(sim *s, const char *deck_text, checkpoint_state *state);
/* Fills a state for checkpoint_write: copies own cells to host memory and computes the fingerprints. Valid until the next
 * call. deck_text must outlive it. */
void sim_snapshot(sim *s, const char *deck_text, checkpoint_state *state);

/* Steps, enqueued at once: as many as sim_steps_at_once gives of at most `most` (>= 1), before which nothing is to be done. With a
 * probe it is one launch's: one step, or one fused sweep; as in step_advance (NULL for transpose and sweep). */
int sim_steps_at_once(const sim *s, int64_t most, bool probed);
void sim_steps(sim *s, int steps, const step_probe *probe);
int sim_train_steps(const sim *s); /* the most that are enqueued at once */
/* Before the first step: leaves nothing to be made in the loop. */
void sim_prepare_steps(sim *s);
/* The same, the last of which takes its norm with it, for kinds and devices that can (in a train with norms of every step all of
 * them do: then only a power of two of steps); sim_change_of then waits for the norm of the last step of the last such call
 * (later = 0), or of the call before it (1), over all ranks. sim_undo_step goes back by one level, which is still there. probe:
 * only of a single step. */
bool sim_can_step_with_change(const sim *s);
/* Of at most `most` steps, how many a fused sweep takes that takes the norm of its last one too; 0: there is none. sim_change then
 * has it at once. */
int sim_change_steps(const sim *s, int64_t most);
void sim_sweep_with_change(sim *s, int steps, const step_probe *probe);
void sim_steps_with_change(sim *s, int steps, const step_probe *probe);
double sim_change_of(sim *s, int later);
void sim_undo_step(sim *s);
/* For measuring: sweeps of the stencil alone, each of `fuse` steps, that count for nothing, as in step_advance; fields swapped. */
void sim_pass_sweeps(sim *s, int64_t sweeps, bool exchange);
/* For measuring, seconds of the slowest rank: a sweep as above, the mean of `count`, between time stamps on the device after a few
 * that fill the pipeline, so that neither its filling nor its draining counts; and an exchange of the present level's halo, the mean
 * of `count` one by one. */
double sim_sweep_s(sim *s, bool exchange, int count);
int sim_lead_in(int count); /* those few */
double sim_exchange_s(sim *s, int count);
/* next is the present level now. */
void sim_swap(sim *s);
/* Waits for everything enqueued. */
void sim_wait(sim *s);

/* max |u - previous u| over all ranks, NaN if there is any: the change of the last step. */
double sim_change(sim *s);
/* Of the present level's main field. All ranks get it. */
uint64_t sim_fingerprint(sim *s);
/* max |field - v| over all ranks; NaN if any cell is. */
double sim_max_error(sim *s, sim_field field, const value *v);
/* Own cells in host memory, dense rows, in snapshot[slot]; valid until the slot's next use. */
const void *sim_host_copy(sim *s, sim_field field, int slot);
/* Transpose: the 1024 values of VALUE_COUNT, put where the device reads them; v->table then points there. */
void sim_set_count_table(sim *s, value *v, const double *table);

/* Debug builds: WEFT_FAULT=cell adds 1e-3 to one cell of rank 0's result, so that tests see the verifier fail. Else nothing. */
void sim_inject_fault(sim *s);
/* WEFT_FAULT=device_error:STEP has the last rank's device fail there, a GPU by a kernel that reads memory that is not allocated. */
void sim_inject_device_error(sim *s);

int64_t sim_own_cells(const sim *s);
/* Device memory of this rank: all fields, ghosts and padding included, and the messages of a redistribution. */
double sim_memory_bytes(const sim *s);
/* Host memory of this rank beside these as soon as a state file is written or a field read: the level put aside. */
size_t sim_aside_bytes(const sim *s);
/* Bytes this rank's device moves in one step, or in one fused sweep, counted from what the kernels read and write, halo and
 * redistribution included. */
double sim_bytes_moved_per_sweep(const sim *s);
/* Cells that this rank computes in a fused sweep beyond its own cells times the steps, as a fraction of these. */
double sim_redundant_fraction(const sim *s);
/* The words per cell by which rates are stated: 2, 3 (wave, advect) or 4 (transpose, sweep). */
int sim_words(const sim *s);

#endif
