/* Checkpoints as the time loop sees them: one is due, the level is put aside and handed to the writer, steps
 * go on, and later it turns out whether the file was written. Of failures in a row rank 0 says the first,
 * where the run may go on. */
#pragma once

#include "run/clock.h"
#include "sim/sim.h"
#include "sim/snapshot.h"
#include "state/state_write.h"

typedef struct saver { /* lives as long as the sim; before saver_open all else is zero */
    sim *sim;
    clock_steps *ticks;    /* of the steps, which leaves out what holds them up */
    const char *deck_text; /* the resolved deck, stored in every state file; none of the three is owned */
    state_writer *writer;  /* NULL until a checkpoint is sure to come */
    snapshot *snapshot;
    int64_t written; /* files that it has heard of */
    bool failure_said;
    bool stop;    /* a write failed and the run is to end; ranks may learn of it at different steps */
    sentence why; /* of the last failure */
} saver;

/* The folders of state files, which all hosts share: seen before the first step, in a dry run too. 0, or the
 * exit status with a sentence that names the key, and the rank and host which does not see the folder as rank
 * 0 does, or may not write where its ranks would; of a checkpoint.dir into which only a signal's checkpoint
 * would go a note. Nothing is left in the folders. Collective. */
int saver_check_folders(sim *s, sentence *why);

/* The writer into checkpoint.dir, as the deck says, and the snapshot's memory; rank 0 says what dead runs had
 * left there. Not OK: one sentence in why that names the key; BUSY is the user's mistake. Collective. */
state_status saver_open(saver *v, sentence *why);
void saver_close(saver *v);

/* After every step; never waits. */
void saver_poll(saver *v);
/* A checkpoint of this level, which all ranks know is to be made. waited_for: return only when it is on disk.
 * False: the run must end, with why; the same on all ranks. Opens the saver if need be. */
bool saver_save(saver *v, bool waited_for);
/* Waits for the last one. False as saver_save. Collective. */
bool saver_finish(saver *v);
