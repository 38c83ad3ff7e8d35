#include "state/checkpoint_sums.h"

#include <stdio.h>

#include "state/checkpoint_dataset.h"
#include "state/checkpoint_h5.h"

enum { BLOCKS_MAX = 1 << 20 }; /* what a file may ask us to hold */

static const char *lines_attribute(const checkpoint_field *f) { return f->ny > 1 ? "block_rows" : "block_cells"; }

bool checkpoint_sums_write(hid_t group, const checkpoint_field *f, const checkpoint_sums *sums, uint64_t *end_bytes)
{
    const hsize_t blocks = (hsize_t)sums->blocks;
    CHECKPOINT_H5_SCOPED const hid_t space = H5Screate_simple(1, &blocks, NULL), how = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(how, false);
    const hid_t dataset = H5Dcreate2(group, f->name, H5T_STD_U32LE, space, H5P_DEFAULT, how, H5P_DEFAULT);
    bool ok = dataset >= 0 && H5Dwrite(dataset, H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, sums->crc) >= 0
              && checkpoint_h5_put_integer(dataset, lines_attribute(f), sums->lines)
              && checkpoint_h5_put_text(dataset, "algorithm", "CRC-32C");
    if (ok) {
        const uint64_t end = H5Dget_offset(dataset) + blocks * sizeof *sums->crc;
        if (end > *end_bytes) *end_bytes = end;
    }
    if (dataset >= 0 && H5Dclose(dataset) < 0) ok = false; /* it may be here that they are written */
    return ok;
}

checkpoint_status checkpoint_sums_read(hid_t file, const char *path, const checkpoint_field *f, checkpoint_sums *sums, sentence *why)
{
    char name[64];
    snprintf(name, sizeof name, "/checksums/%s", f->name);
    *sums = (checkpoint_sums){ .crc = NULL };
    if (H5Lexists(file, "/checksums", H5P_DEFAULT) <= 0 || H5Lexists(file, name, H5P_DEFAULT) <= 0) return CHECKPOINT_OK;
    const char *reason;
    CHECKPOINT_H5_SCOPED const hid_t dataset = checkpoint_dataset_open_inside(file, "/checksums", f->name, &reason);
    CHECKPOINT_H5_SCOPED const hid_t space = dataset < 0 ? H5I_INVALID_HID : H5Dget_space(dataset);
    CHECKPOINT_H5_SCOPED const hid_t type = dataset < 0 ? H5I_INVALID_HID : H5Dget_type(dataset); /* HDF5 makes room for numbers as long as it says */
    int64_t lines = 0;
    bool ok = space >= 0 && checkpoint_h5_get_integer(dataset, lines_attribute(f), &lines) && lines > 0;
    const int64_t blocks = ok ? (checkpoint_lines(f) - 1) / lines + 1 : 0;
    ok = ok && H5Tequal(type, H5T_STD_U32LE) > 0 && checkpoint_h5_chunks_fit(dataset) && blocks <= BLOCKS_MAX && H5Sget_simple_extent_npoints(space) == blocks && checkpoint_sums_make(sums, f, lines)
         && H5Dread(dataset, H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, sums->crc) >= 0;
    if (ok) return CHECKPOINT_OK;
    checkpoint_sums_free(sums);
    return checkpoint_fail(CHECKPOINT_DAMAGED, why, "%s: %s cannot be read as the checksums of /fields/%s", path, name, f->name);
}
