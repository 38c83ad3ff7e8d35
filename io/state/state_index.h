/* The index of a state as a file, and its parts as files: what HDF5 makes, and the table behind it. Functions
 * that say HDF5 are the main thread's; the others call neither MPI nor HDF5. */
#pragma once

#include <hdf5.h>

#include "state/state.h"

/* The head of a level's table, before it is cut into parts. */
state_info state_of_level(const state_level *l);

/* ---- geometry ---- */

/* Blocks of a part's rectangle: the cells of each lie together in the file. */
int64_t state_blocks(box cells, dtype t);
/* Numbers the blocks of all parts by their cells (part[].block, s->blocks), and makes room behind the parts
 * for their checksums, which are 0, and a copy of the deck. */
void state_lay_out(state_info *s, const char *deck);
/* Piece n of a rectangle, of that many blocks, in the order of its rows: whole rows, or a piece of one; empty
 * past the last. */
box state_piece(box cells, dtype t, int blocks, int64_t n);
extern int64_t state_block_bytes; /* STATE_BLOCK_BYTES; tests make it smaller */
/* Bytes of a path's last name without ".h5". */
int state_stem_bytes(const char *path);
/* The file of part k: FOLDER/K.h5 beside the index, or the index. */
void state_part_path(const state_info *s, int k, char out[STATE_PATH_BYTES]);

/* ---- the table ---- */

/* CRC-32C of the first bytes of an open file without the cells of part k; k = -1: it has none. 0 or errno. */
int state_structure_crc(const state_info *s, int k, int fd, int64_t bytes, uint32_t *crc);
/* Reads an index, and compares its checksums; s has no parts, checksums and deck then. MISSING: no such file;
 * DAMAGED: no table at its end, or another checksum; IO. */
state_status state_index_head(const char *path, state_info *s);
/* Appends the table to the file that state_index_create made, with the checksum of what is there, fsyncs it
 * and reads it back. 0 or errno. */
int state_index_end(const char *path, state_info *s);

/* ---- HDF5, states, by one rank ---- */

/* Makes part k's file with its datasets allocated and nothing in them: fills part[k].at_bytes. */
state_status state_part_create(state_info *s, int k, sentence *why);
/* Makes the index `path`, or, of one file, adds to that of state_part_create: what other programs read. */
state_status state_index_create(const char *path, const state_info *s, sentence *why);

/* A variable whose identifier is closed where its block ends: for all but what is returned, and what a close
 * may still have to write. */
#define STATE_H5_SCOPED __attribute__((cleanup(state_h5_close)))
static inline void state_h5_close(const hid_t *id)
{
    if (*id >= 0) H5Idec_ref(*id);
}

/* ---- blocks of parts, compared with their checksums: below state_verify, and after a write ---- */

/* Reads all of part k, past the page cache, and compares blocks and structure. The shares of fingerprints are
 * added to `fingerprint`. What differs, or is not there, is added to r (DAMAGED); IO with why. By one rank
 * and any thread. */
state_status state_look_at(const state_info *s, int k, uint64_t fingerprint[STATE_FIELDS_MAX],
                           state_report *r, sentence *why);
