/* A state file's structure (checkpoint_structure.h) as bytes in memory, so that it is written, and compared,
 * without HDF5; and the seal, the last bytes of a state file: a checksum of all that is no field's data. How
 * they lie stands in checkpoint_image.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "state/checkpoint_status.h"
#include "state/checkpoint_structure.h"

typedef struct checkpoint_gap {
    uint64_t at_bytes, bytes;
} checkpoint_gap;

enum { CHECKPOINT_SEAL_BYTES = 72 };
/* Compares the seal with the file, without HDF5. OK with *sealed: the structure is as it was written; OK
 * without: there is no seal, or no file that may be read. DAMAGED or IO with a sentence. By one rank. */
checkpoint_status checkpoint_seal_check(const char *path, bool *sealed, sentence *why);

/* Of a file, all that is no field's data, with the seal behind it. For the rank that writes it by other means
 * than HDF5. */
typedef struct checkpoint_image {
    checkpoint_layout layout;
    uint64_t file_bytes;
    checkpoint_gap gap[CHECKPOINT_FIELDS_MAX + 1]; /* before, between and behind the fields' data */
    char *bytes;                      /* of the gaps, one after another; owned: checkpoint_image_free */
} checkpoint_image;
checkpoint_status checkpoint_image_make(checkpoint_image *image, const checkpoint_state *s,
                                        const checkpoint_sums *sums, sentence *why);
void checkpoint_image_free(checkpoint_image *image);
/* Written: these bytes, and the length of the file fd. Compared with what it has: EIO where it differs. 0 or
 * errno. */
int checkpoint_image_write(const checkpoint_image *image, int fd);
int checkpoint_image_compare(const checkpoint_image *image, int fd);
/* CRC-32C of its bytes; and of what the file fd has in the place of an image of that length and layout. */
uint32_t checkpoint_image_crc(const checkpoint_image *image);
int checkpoint_image_found_crc(const checkpoint_state *s, const checkpoint_layout *l, uint64_t file_bytes,
                               int fd, uint32_t *crc);
