/* The folder of checkpoints as one rank sees it, and names in it; for all ranks see checkpoint.h. */
#ifndef CHECKPOINT_DIRECTORY_H
#define CHECKPOINT_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checkpoint_status.h"

enum { CHECKPOINT_PATH_BYTES = 4400 };

/* The step of "DIR/step_NNNNNNNNNN.h5", -1 for any other name. */
int64_t checkpoint_step_of(const char *path);
/* checkpoint_list for one rank alone; *steps is the caller's to free. */
checkpoint_status checkpoint_list_here(const char *dir, int64_t **steps, size_t *count);

/* Another host made what a look here ended with `code` at: is it worth another look? A network file system may for some seconds not know
 * a name (ENOENT), or know another file by it (ESTALE). True after a pause, for 10 s; *tries is 0 at first. */
bool checkpoint_look_again(int code, int *tries);

#endif
