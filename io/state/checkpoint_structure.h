/* A state file's structure: attributes, checksums, empty datasets and views of them, and where in the file
 * they lie. By one rank alone. */
#pragma once

#include "state/checkpoint_sums.h"

typedef struct checkpoint_layout { /* of a file: where things begin and end */
    uint64_t field_at_bytes[CHECKPOINT_FIELDS_MAX];
    uint64_t end_bytes; /* of the last dataset */
} checkpoint_layout;

/* Makes path with all attributes and checksums and with datasets that have their place but no data yet. The
 * bytes depend on *s and the sums alone, and the layout not even on fingerprints, step (of a given number of
 * digits) and sums. By one rank alone. */
checkpoint_status checkpoint_structure_write(const char *path, const checkpoint_state *s,
                                             const checkpoint_sums *sums, checkpoint_layout *layout,
                                             sentence *why);
uint64_t checkpoint_field_bytes(const checkpoint_state *s, int i);
