/* The checksums of blocks in a state file: /checksums/NAME, one number per block, beside /fields/NAME. */
#pragma once

#include <hdf5.h>

#include "state/checkpoint_blocks.h"
#include "state/checkpoint_status.h"

/* By one rank: makes and fills NAME in the group /checksums; raises *end_bytes to where it ends. */
bool checkpoint_sums_write(hid_t group, const checkpoint_field *f, const checkpoint_sums *sums, uint64_t *end_bytes);
/* sums->crc stays NULL, with status OK, where the file has none for this field. */
checkpoint_status checkpoint_sums_read(hid_t file, const char *path, const checkpoint_field *f, checkpoint_sums *sums, sentence *why);
