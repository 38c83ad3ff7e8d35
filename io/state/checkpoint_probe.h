/* A look at a file by a process of its own, before this one opens it: HDF5 trusts its input, and some damaged
 * files crash it, or keep it busy for ever. There the child ends, by itself or by the limit on its processor
 * time, and the file is one that is damaged. State files whose structure has a checksum need no child
 * (checkpoint_image.c): those of older versions do, files that other programs changed or repacked, and
 * theirs.
 *
 * What the child looks at is what the caller is going to have HDF5 interpret: a state file's attributes,
 * datasets' shapes, types and places, checksums; or all that there is; or one dataset of another program.
 * Data are read where they are more than plain bytes: in pieces, compressed, elsewhere, as other programs
 * write them and repack state files. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "state/checkpoint_status.h"

#define CHECKPOINT_PROBE_STATE "state" /* what a restart reads */
#define CHECKPOINT_PROBE_ALL "all"     /* and all else but data */
/* May HDF5 read this file, or that part of it: one of those above, or a dataset's path? DAMAGED: no. cells:
 * of the dataset that is needed, 0 for what is no dataset's data. *sealed, or NULL: its structure is known to
 * be as weft wrote it. Collective. */
checkpoint_status checkpoint_probe(MPI_Comm comm, const char *path, const char *what, int64_t cells,
                                   bool *sealed, sentence *why);
/* From here on files are looked at first, by children that run this program, which gives them its argument;
 * "" or NULL: not. */
void checkpoint_probe_by(const char *self_exe);
