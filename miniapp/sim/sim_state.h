/* The values of a simulation's fields: where they come from, where they go, and what is measured on them. */
#pragma once

#include "sim/sim.h"
#include "state/state.h"

/* The fields of s, each once: the present level's, then the one that a step writes. Returns how many. */
int sim_fields(const sim *s, sim_field field[SIM_FIELDS_MAX]);
/* Those of the present level, in the order of a state file. Returns how many. */
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
/* Fills a level to be written: copies own cells to host memory and computes this rank's shares of the
 * fingerprints.
 * Valid until the next call. deck_text must outlive it. */
void sim_snapshot(sim *s, const char *deck_text, state_level *level);

/* The number that a reduction has left on this rank's device; waits for it. */
uint64_t sim_result(sim *s);
/* The largest over all ranks of a number that is given by its bits (cell_abs_bits); NaN if there is any. */
double sim_most(MPI_Comm comm, uint64_t mine);
/* The fingerprint of the present level's main field. All ranks get it. */
uint64_t sim_fingerprint(sim *s);
/* max |field - v| over all ranks; NaN if any cell is. */
double sim_max_error(sim *s, sim_field field, const value *v);
/* The cells of the main field that are NaN or infinite, over all ranks, and the first of them in file order.
 * Takes as long as a norm, where there are some as a copy to the host. Collective. */
int64_t sim_cells_not_finite(sim *s, int64_t *first_x, int64_t *first_y);
/* Own cells in host memory, dense rows, in snapshot[slot] or in the memory of the next level; valid until the
 * slot's next use, or until the next step. */
const void *sim_host_copy(sim *s, sim_field field, int slot);
/* Transpose: the 1024 values of VALUE_COUNT, put where the device reads them; v->table then points there. */
void sim_set_count_table(sim *s, value *v, const double *table);

/* Debug builds: WEFT_FAULT=cell adds 1e-3 to one cell of rank 0's result, so that tests see the verifier
 * fail. Else nothing. */
void sim_inject_fault(sim *s);
/* WEFT_FAULT=device_error:STEP has the last rank's device fail there, a GPU by a kernel that reads memory
 * that is not allocated. */
void sim_inject_device_error(sim *s);

/* Where fields are in host memory and a visit to the device takes many steps, what is put aside goes where
 * the next level will be, and takes no memory of its own. No step may be taken while it is in use. */
bool sim_has_free_level(const sim *s);
/* ---- snapshot.c ---- */

/* A level put aside for a checkpoint while the next steps overwrite it.
 *
 * Where the device's memory has room for the level once more, it is copied there between two steps (a copy at
 * the device's full rate, which is all that the steps wait for), and from there to pinned host memory on a
 * stream of low priority beside them. Without that room it is copied to the host at once and the steps wait
 * for it: they may not overwrite what is still read, and the one step that could be let pass is nothing
 * beside the copy. On the host device, where there is one memory, the same. Fields that stream through the
 * device are put aside where the next level will be (sim_has_free_level): steps wait for the file too.
 * Fingerprints are computed of what was put aside. Nothing is allocated after snapshot_create. */
typedef struct snapshot snapshot;

/* The level's second place is the host memory of sim's own snapshots (sim_state_describe). */
snapshot *snapshot_create(sim *s);
void snapshot_destroy(snapshot **p);
/* Puts the level aside and describes it in *state; what was put aside before is lost. Enqueues only. */
void snapshot_take(snapshot *p, const char *deck_text, state_level *level);
/* state_request.ready; the owner is the snapshot. */
bool snapshot_ready(void *owner, state_level *level, double *held_s);
/* state_request.idle: is all done that was enqueued before snapshot_mark, or before the level was taken? */
bool snapshot_idle(void *owner);
void snapshot_mark(snapshot *p);
