/* The blocks of a field, whole rows or in 1D runs of cells, and their checksums, which a state file has as
 * /checksums/NAME beside /fields/NAME. All but checkpoint_sums_unite, _write and _read may be called by any
 * thread. */
#pragma once

#include <hdf5.h>
#include <stddef.h>

#include "state/checkpoint_state.h"
#include "state/checkpoint_status.h"

enum { CHECKPOINT_WHERE_BYTES = 96 };

/* Of one field, CRC-32C of each block: `lines` rows, or cells where there is one row; the last may be
 * shorter. */
typedef struct checkpoint_sums {
    int64_t lines, blocks;
    uint32_t *crc; /* owned: checkpoint_sums_free; NULL: none */
} checkpoint_sums;

/* Its rows, or in 1D its cells. */
static inline int64_t checkpoint_lines(const checkpoint_field *f) { return f->ny > 1 ? f->ny : f->nx; }

/* Bytes that a block is about, where that makes few enough blocks. Tests make it small. */
extern size_t checkpoint_block_bytes;
int64_t checkpoint_block_lines(const checkpoint_field *f, dtype type); /* of a file to be written */
int64_t checkpoint_blocks(const checkpoint_field *f, dtype type);
box checkpoint_block(const checkpoint_field *f, int64_t lines, int64_t index); /* its cells, global */
/* "block 2, rows 32 .. 47" or "block 2, columns 32 .. 47", of at most CHECKPOINT_WHERE_BYTES. */
void checkpoint_say_block(char *out, const checkpoint_field *f, int64_t lines, int64_t block);

/* All zero; false: no memory. lines > 0. */
bool checkpoint_sums_make(checkpoint_sums *sums, const checkpoint_field *f, int64_t lines);
void checkpoint_sums_free(checkpoint_sums *sums);
/* Adds the share of the cells `part`, dense rows at data. Once all cells are in, over all ranks where unite
 * is called, finish makes checksums of the shares. */
void checkpoint_sums_add(checkpoint_sums *sums, dtype type, const void *data, box part,
                         const checkpoint_field *f);
void checkpoint_sums_unite(MPI_Comm comm, checkpoint_sums *sums);
void checkpoint_sums_finish(checkpoint_sums *sums, dtype type, const checkpoint_field *f);

/* By one rank: makes and fills NAME in the group /checksums; raises *end_bytes to where it ends. */
bool checkpoint_sums_write(hid_t group, const checkpoint_field *f, const checkpoint_sums *sums,
                           uint64_t *end_bytes);
/* sums->crc stays NULL, with status OK, where the file has none for this field. */
checkpoint_status checkpoint_sums_read(hid_t file, const char *path, const checkpoint_field *f,
                                       checkpoint_sums *sums, sentence *why);
