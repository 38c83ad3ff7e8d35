/* The folder of checkpoints as one rank sees it, and names in it; for all ranks see checkpoint.h. */
#ifndef CHECKPOINT_DIRECTORY_H
#define CHECKPOINT_DIRECTORY_H

#include <stddef.h>
#include <stdint.h>

#include "checkpoint_status.h"

enum { CHECKPOINT_PATH_BYTES = 4400 };

/* The step of "DIR/step_NNNNNNNNNN.h5", -1 for any other name. */
int64_t checkpoint_step_of(const char *path);
/* checkpoint_list for one rank alone; *steps is the caller's to free. */
checkpoint_status checkpoint_list_here(const char *dir, int64_t **steps, size_t *count);

#endif
