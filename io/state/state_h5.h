/* HDF5 by one rank alone: opening a file, attributes. Identifiers that are returned are
 * the caller's to close. */
#pragma once

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/dtype.h"
#include "state/state.h"

/* A variable whose identifier is closed where its block ends: for all but what is returned, and what a close
 * may still have to write. */
#define STATE_H5_SCOPED __attribute__((cleanup(state_h5_close)))
static inline void state_h5_close(const hid_t *id)
{
    if (*id >= 0) H5Idec_ref(*id);
}

/* Why the last HDF5 call failed: its innermost message, a static string. Call before any other HDF5 call. */
const char *state_h5_reason(void);
/* HDF5 prints no error stacks of its own from here on. */
void state_h5_quiet(void);

/* How files are opened: without locks, which parallel file systems often lack, unless the user's
 * HDF5_USE_FILE_LOCKING asks for them; all that is open of a file goes with it. To be closed. */
hid_t state_h5_access(void);

/* Opens an existing file for reading by this rank alone, with POSIX calls: no rank waits for another.
 * MISSING, DAMAGED (not HDF5, truncated) or IO with a sentence. */
state_status state_h5_open(const char *path, hid_t *file, sentence *why);

hid_t state_h5_file_type(dtype t); /* what is written: little-endian IEEE; a constant, not to be closed */

/* No times in it: a file depends on the state alone. */
hid_t state_h5_create_group(hid_t root, const char *name);
/* Attributes: `count` values, 0: a scalar. */
bool state_h5_put(hid_t object, const char *name, hid_t file_type, hid_t memory_type, hsize_t count,
                  const void *values);
bool state_h5_put_text(hid_t object, const char *name, const char *text);
bool state_h5_put_integer(hid_t object, const char *name, int64_t number);
bool state_h5_get_integer(hid_t object, const char *name, int64_t *number);
/* A string attribute of fixed length. False: none such, or a longer one. */
bool state_h5_get_text(hid_t object, const char *name, char *out, size_t out_bytes);
