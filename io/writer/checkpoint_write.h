/* Writing a state file while the caller waits, and what a write of any kind spends its time on. To
 * NAME.tmp.<16 hex digits>, a name used once, flushed, fsynced, read back and compared as `verify` asks,
 * renamed, directory fsynced. On failure one sentence in why, no NAME.tmp left behind and an older NAME
 * untouched. */
#pragma once

#include "state/checkpoint_state.h"
#include "state/checkpoint_status.h"

typedef enum checkpoint_spent { /* parts of a write's seconds */
    CHECKPOINT_CHECKSUMS, /* at the source, with the fingerprint where that is compared there */
    CHECKPOINT_PWRITE,
    CHECKPOINT_FSYNC,
    CHECKPOINT_SPENT
} checkpoint_spent;

/* Collective; the same status on every rank. *aggregators, or NULL: how many ranks collected and wrote; 0:
 * every rank wrote its own cells. */
checkpoint_status checkpoint_write(MPI_Comm comm, const char *path, const checkpoint_state *s,
                                   int *aggregators, sentence *why);

#define CHECKPOINT_SERIES_NAME "series.xmf"
/* Writes DIR/step_NNNNNNNNNN.h5 and makes DIR/series.xmf anew, a collection over time of the files of steps
 * up to this one that are multiples of `every`. dir exists and is this run's alone. Status as
 * checkpoint_write. */
checkpoint_status checkpoint_add_to_series(MPI_Comm comm, const char *dir, int64_t every,
                                           const checkpoint_state *s, sentence *why);
