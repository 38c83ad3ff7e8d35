/* The last bytes of a state file: a checksum of all that is no field's data. How they lie stands in checkpoint_seal.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "state/checkpoint_status.h"

typedef struct checkpoint_gap {
    uint64_t at_bytes, bytes;
} checkpoint_gap;

/* A checksum of the gaps, the file's last bytes. bytes: of the gaps, one after another. */
enum { CHECKPOINT_SEAL_BYTES = 72 };
void checkpoint_seal_put(unsigned char seal[CHECKPOINT_SEAL_BYTES], const checkpoint_gap *gap, int gaps, const void *bytes);
/* Compares it with the file, without HDF5. OK with *sealed: the structure is as it was written; OK without: there is no seal, or no
 * file that may be read. DAMAGED or IO with a sentence. By one rank. */
checkpoint_status checkpoint_seal_check(const char *path, bool *sealed, sentence *why);
