/* A part of a field as HDF5 reads it, through a buffer, into sums of what was found. By one rank. */
#include <stdlib.h>

#include "checkpoint_part.h"

enum { SCAN_BYTES = 64 << 20 }; /* memory that reading may take per rank */

checkpoint_status checkpoint_scan(hid_t dataset, const char *path, const checkpoint_field *f, dtype type, box part,
                                  uint64_t *fingerprint, checkpoint_sums *sums, char *why, size_t why_bytes)
{
    const size_t cell_bytes = dtype_bytes(type);
    const int64_t bands = checkpoint_bands(part, cell_bytes, SCAN_BYTES);
    if (bands == 0) return CHECKPOINT_OK;
    void *buffer = malloc((size_t)box_cells(checkpoint_band(part, cell_bytes, SCAN_BYTES, 0)) * cell_bytes);
    if (!buffer) return checkpoint_fail(CHECKPOINT_IO, why, why_bytes, "no memory to read %s", path);
    checkpoint_status status = CHECKPOINT_OK;
    const hid_t space = H5Dget_space(dataset);
    for (int64_t b = 0; b < bands && status == CHECKPOINT_OK; b++) {
        const box piece = checkpoint_band(part, cell_bytes, SCAN_BYTES, b);
        const hsize_t cells = (hsize_t)box_cells(piece);
        const hid_t memory = H5Screate_simple(1, &cells, NULL);
        if (!checkpoint_h5_select(space, piece)
            || H5Dread(dataset, checkpoint_h5_memory_type(type), memory, space, H5P_DEFAULT, buffer) < 0)
            status = checkpoint_fail(CHECKPOINT_IO, why, why_bytes, "cannot read /fields/%s of %s: %s", f->name, path,
                                     checkpoint_h5_reason());
        else {
            if (fingerprint) *fingerprint += checkpoint_fingerprint_share(type, buffer, piece, f->nx);
            if (sums) checkpoint_sums_add(sums, type, buffer, piece, f);
        }
        H5Sclose(memory);
    }
    H5Sclose(space);
    free(buffer);
    return status;
}
