/* A level put aside for a checkpoint while the next steps overwrite it.
 *
 * Where the device's memory has room for the level once more, it is copied there between two steps (a copy at
 * the device's full rate, which is all that the steps wait for), and from there to pinned host memory on a
 * stream of low priority beside them. Without that room it is copied to the host at once and the steps wait
 * for it: they may not overwrite what is still read, and the one step that could be let pass is nothing
 * beside the copy. On the host device, where there is one memory, the same. Fields that stream through the
 * device are put aside where the next level will be (sim_has_free_level): steps wait for the file too.
 * Fingerprints are computed of what was put aside. Nothing is allocated after snapshot_create. */
#pragma once

#include "sim/sim.h"

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
