/* A rank's cells in pieces that fit a buffer, and their share of the fingerprint. Boxes are in global coordinates; no MPI, no HDF5,
 * no file. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/box.h"
#include "core/dtype.h"

/* Piece `index` of `own`, contiguous in own's dense rows, of at most band_bytes (one cell at least); empty past the last. */
box checkpoint_band(box own, size_t cell_bytes, size_t band_bytes, int64_t index);
int64_t checkpoint_bands(box own, size_t cell_bytes, size_t band_bytes);

/* This rank's share of the fingerprint: the sum mod 2^64 over `own` of a field nx cells wide; data: own's dense rows. */
uint64_t checkpoint_fingerprint_share(dtype t, const void *data, box own, int64_t nx);
