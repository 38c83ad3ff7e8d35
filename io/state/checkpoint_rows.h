/* Bytes of a state file by pread and pwrite, and a rank's cells in it: any thread may. */
#pragma once

#include <stddef.h>

#include "state/checkpoint_state.h"

/* A rank's cells in the file, by pread and pwrite: no HDF5, no MPI, so that a thread may. `part`: global coordinates, cells of
 * the rank's box f->own; data: dense rows of part. 0 or errno. */
int checkpoint_rows_write(int fd, uint64_t field_at_bytes, const checkpoint_field *f, dtype type, box part, const void *data);
int checkpoint_rows_read(int fd, uint64_t field_at_bytes, const checkpoint_field *f, dtype type, box part, void *data);
/* All of [0, bytes), in as many calls as it takes. 0 or errno; EIO where the file ends before. */
int checkpoint_pwrite(int fd, const void *data, size_t bytes, uint64_t at_bytes);
int checkpoint_pread(int fd, void *data, size_t bytes, uint64_t at_bytes);
