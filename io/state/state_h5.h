/* HDF5 by one rank alone: opening a file of another program. Identifiers that are returned are the caller's
 * to close. */
#pragma once

#include <hdf5.h>

#include "state/state.h"

/* A variable whose identifier is closed where its block ends: for all but what is returned, and what a close
 * may still have to write. */
#define STATE_H5_SCOPED __attribute__((cleanup(state_h5_close)))
static inline void state_h5_close(const hid_t *id)
{
    if (*id >= 0) H5Idec_ref(*id);
}

/* Opens an existing file for reading by this rank alone, with POSIX calls: no rank waits for another. HDF5
 * prints no error stacks of its own from here on. MISSING, DAMAGED (not HDF5, truncated) or IO with a
 * sentence.
 */
state_status state_h5_open(const char *path, hid_t *file, sentence *why);
/* What HDF5 says of the call that failed last, its innermost words first. */
const char *state_h5_reason(void);
