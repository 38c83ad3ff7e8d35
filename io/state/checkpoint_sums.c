/* Checksums of a field's blocks. A block is a run of bytes of the dataset in global order: a number of whole
 * rows, or cells where there is one row. The blocks depend on the field's shape alone and each rank's share
 * is added by exclusive or (crc32c.h), so that a file has the same checksums whatever the ranks' boxes. */
#include "state/checkpoint_sums.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "files/crc32c.h"
#include "ranks/check.h"
#include "ranks/ranks.h"
#include "state/checkpoint_dataset.h"
#include "state/checkpoint_h5.h"

size_t checkpoint_block_bytes = (size_t)64 << 10;

enum { BLOCKS_AIMED_AT = 1 << 18 }; /* 1 MiB of checksums at most */

static int64_t line_cells(const checkpoint_field *f) { return f->ny > 1 ? f->nx : 1; }

int64_t checkpoint_block_lines(const checkpoint_field *f, dtype type)
{
    const int64_t line_bytes = line_cells(f) * (int64_t)dtype_bytes(type);
    int64_t lines = (int64_t)checkpoint_block_bytes / line_bytes;
    if (lines < 1) lines = 1;
    while ((checkpoint_lines(f) - 1) / lines >= BLOCKS_AIMED_AT) lines *= 2;
    return lines;
}

int64_t checkpoint_blocks(const checkpoint_field *f, dtype type)
{
    return (checkpoint_lines(f) - 1) / checkpoint_block_lines(f, type) + 1;
}

box checkpoint_block(const checkpoint_field *f, int64_t lines, int64_t index)
{
    const int64_t all = checkpoint_lines(f), first = index * lines,
                  last = all - first > lines ? first + lines : all;
    return f->ny > 1 ? box_make(0, f->nx, first, last) : box_make(first, last, 0, 1);
}

void checkpoint_say_block(char *out, const checkpoint_field *f, int64_t lines, int64_t block)
{
    const box b = checkpoint_block(f, lines, block);
    const bool rows = f->ny > 1;
    snprintf(out, CHECKPOINT_WHERE_BYTES, "block %" PRId64 ", %s %" PRId64 " .. %" PRId64, block,
             rows ? "rows" : "columns", rows ? b.y0 : b.x0, (rows ? b.y1 : b.x1) - 1);
}

bool checkpoint_sums_make(checkpoint_sums *sums, const checkpoint_field *f, int64_t lines)
{
    sums->lines = lines;
    sums->blocks = (checkpoint_lines(f) - 1) / lines + 1;
    sums->crc = calloc((size_t)sums->blocks, sizeof *sums->crc);
    return sums->crc != NULL;
}

void checkpoint_sums_free(checkpoint_sums *sums)
{
    free(sums->crc);
    *sums = (checkpoint_sums){ .crc = NULL };
}

static int64_t end_of(const checkpoint_field *f, box b) { return (b.y1 - 1) * f->nx + b.x1; }

void checkpoint_sums_add(checkpoint_sums *sums, dtype type, const void *data, box part,
                         const checkpoint_field *f)
{
    if (box_empty(part)) return;
    const size_t cell_bytes = dtype_bytes(type);
    const bool flat = f->ny == 1;
    const int64_t first = (flat ? part.x0 : part.y0) / sums->lines,
                  last = ((flat ? part.x1 : part.y1) - 1) / sums->lines;
    const bool joined = box_width(part) == f->nx || box_height(part) == 1; /* no piece has a second row */
    /* costs as much as some kilobytes */
    const uint32_t one_row = joined ? 0 : crc32c_zeros((uint64_t)f->nx * cell_bytes);
#pragma omp parallel for
    for (int64_t i = first; i <= last; i++) {
        const box block = checkpoint_block(f, sums->lines, i), piece = box_intersect(block, part);
        const bool dense = box_width(piece) == f->nx;
        const int64_t runs = dense ? 1 : box_height(piece);
        const size_t run_bytes = (size_t)(dense ? box_cells(piece) : box_width(piece)) * cell_bytes;
        uint32_t share = 0;
        for (int64_t r = 0; r < runs; r++) {
            const int64_t at = (piece.y0 + r - part.y0) * box_width(part) + piece.x0 - part.x0;
            share = crc32c_times(share, one_row) ^
                    crc32c_raw(0, (const char *)data + (size_t)at * cell_bytes, run_bytes);
        }
        const uint64_t behind_bytes = (uint64_t)(end_of(f, block) - end_of(f, piece)) * cell_bytes;
        sums->crc[i] ^= crc32c_times(share, crc32c_zeros(behind_bytes));
    }
}

void checkpoint_sums_finish(checkpoint_sums *sums, dtype type, const checkpoint_field *f)
{
    int64_t bytes_before = -1;
    uint32_t start = 0; /* what the register's start became behind the block: all blocks but the last have
                         * one size */
    for (int64_t i = 0; i < sums->blocks; i++) {
        const int64_t bytes = box_cells(checkpoint_block(f, sums->lines, i)) * (int64_t)dtype_bytes(type);
        if (bytes != bytes_before) start = crc32c_times(UINT32_MAX, crc32c_zeros((uint64_t)bytes));
        bytes_before = bytes;
        sums->crc[i] = ~(sums->crc[i] ^ start);
    }
}

void checkpoint_sums_unite(MPI_Comm comm, checkpoint_sums *sums)
{
    MPI_CHECK(ranks_allreduce(MPI_IN_PLACE, sums->crc, (int)sums->blocks, MPI_UINT32_T, MPI_BXOR, comm));
}

/* ---- in a file ---- */

enum { BLOCKS_MAX = 1 << 20 }; /* what a file may ask us to hold */

static const char *lines_attribute(const checkpoint_field *f)
{
    return f->ny > 1 ? "block_rows" : "block_cells";
}

bool checkpoint_sums_write(hid_t group, const checkpoint_field *f, const checkpoint_sums *sums,
                           uint64_t *end_bytes)
{
    const hsize_t blocks = (hsize_t)sums->blocks;
    CHECKPOINT_H5_SCOPED const hid_t space = H5Screate_simple(1, &blocks, NULL),
                                     how = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(how, false);
    const hid_t dataset = H5Dcreate2(group, f->name, H5T_STD_U32LE, space, H5P_DEFAULT, how, H5P_DEFAULT);
    bool ok = dataset >= 0 &&
              H5Dwrite(dataset, H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, sums->crc) >= 0 &&
              checkpoint_h5_put_integer(dataset, lines_attribute(f), sums->lines) &&
              checkpoint_h5_put_text(dataset, "algorithm", "CRC-32C");
    if (ok) {
        const uint64_t end = H5Dget_offset(dataset) + blocks * sizeof *sums->crc;
        if (end > *end_bytes) *end_bytes = end;
    }
    if (dataset >= 0 && H5Dclose(dataset) < 0) ok = false; /* it may be here that they are written */
    return ok;
}

checkpoint_status checkpoint_sums_read(hid_t file, const char *path, const checkpoint_field *f,
                                       checkpoint_sums *sums, sentence *why)
{
    char name[64];
    snprintf(name, sizeof name, "/checksums/%s", f->name);
    *sums = (checkpoint_sums){ .crc = NULL };
    if (H5Lexists(file, "/checksums", H5P_DEFAULT) <= 0 || H5Lexists(file, name, H5P_DEFAULT) <= 0)
        return CHECKPOINT_OK;
    const char *reason;
    CHECKPOINT_H5_SCOPED const hid_t dataset =
        checkpoint_dataset_open_inside(file, "/checksums", f->name, &reason);
    CHECKPOINT_H5_SCOPED const hid_t space = dataset < 0 ? H5I_INVALID_HID : H5Dget_space(dataset);
    /* HDF5 makes room for numbers as long as it says */
    CHECKPOINT_H5_SCOPED const hid_t type = dataset < 0 ? H5I_INVALID_HID : H5Dget_type(dataset);
    int64_t lines = 0;
    bool ok = space >= 0 && checkpoint_h5_get_integer(dataset, lines_attribute(f), &lines) && lines > 0;
    const int64_t blocks = ok ? (checkpoint_lines(f) - 1) / lines + 1 : 0;
    ok = ok && H5Tequal(type, H5T_STD_U32LE) > 0 && checkpoint_h5_chunks_fit(dataset) &&
         blocks <= BLOCKS_MAX && H5Sget_simple_extent_npoints(space) == blocks &&
         checkpoint_sums_make(sums, f, lines) &&
         H5Dread(dataset, H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, sums->crc) >= 0;
    if (ok) return CHECKPOINT_OK;
    checkpoint_sums_free(sums);
    return checkpoint_fail(CHECKPOINT_DAMAGED, why, "%s: %s cannot be read as the checksums of /fields/%s",
                           path, name, f->name);
}
