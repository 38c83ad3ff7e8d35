/* What a state file says about itself: kind, type, step, grid, fingerprint and deck, and which fields that
 * makes. By one rank; sizes in cells. */
#pragma once

#include <hdf5.h>

#include "state/checkpoint_state.h"
#include "state/checkpoint_status.h"

/* CRC-32C of all that *info says but `sealed`, with this deck; the root attribute description_crc32c, which
 * older files lack. */
uint32_t checkpoint_info_crc(const checkpoint_info *info, const char *deck);
/* What an open file says about itself, to be freed in any case. DAMAGED also where that is not what was
 * written, or the step is not that of the file's name. */
checkpoint_status checkpoint_info_of(hid_t file, const char *path, checkpoint_info *info, sentence *why);

/* The fields that a file of that kind has, with names and shapes alone. */
checkpoint_state checkpoint_info_fields(const checkpoint_info *info);

/* The field whose fingerprint stands for the whole state: b of a transpose, else the first. */
int checkpoint_main_field(const checkpoint_state *s);
