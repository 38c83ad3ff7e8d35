/* A rank's cells: in pieces that fit a buffer, their share of the fingerprint, and their bytes in a state
 * file by pread and pwrite. Boxes are in global coordinates. No HDF5, no MPI, so that any thread may. */
#pragma once

#include <stddef.h>

#include "state/checkpoint_state.h"

/* Piece `index` of `own`, contiguous in own's dense rows, of at most band_bytes (one cell at least); empty
 * past the last. */
box checkpoint_band(box own, size_t cell_bytes, size_t band_bytes, int64_t index);
int64_t checkpoint_bands(box own, size_t cell_bytes, size_t band_bytes);

/* This rank's share of the fingerprint: the sum mod 2^64 over `own` of a field nx cells wide; data: own's
 * dense rows. */
uint64_t checkpoint_fingerprint_share(dtype t, const void *data, box own, int64_t nx);

/* `part`: cells of the rank's box f->own; data: dense rows of part. 0 or errno. */
int checkpoint_rows_write(int fd, uint64_t field_at_bytes, const checkpoint_field *f, dtype type, box part,
                          const void *data);
int checkpoint_rows_read(int fd, uint64_t field_at_bytes, const checkpoint_field *f, dtype type, box part,
                         void *data);
/* All of [0, bytes), in as many calls as it takes. 0 or errno; EIO where the file ends before. */
int checkpoint_pwrite(int fd, const void *data, size_t bytes, uint64_t at_bytes);
int checkpoint_pread(int fd, void *data, size_t bytes, uint64_t at_bytes);
