/* The folder of checkpoints, and names in it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "state/checkpoint_status.h"

enum { CHECKPOINT_PATH_BYTES = 4400 };

/* DIR/step_NNNNNNNNNN.h5 */
void checkpoint_path(char *out, size_t out_bytes, const char *dir, int64_t step);
/* The step of "DIR/step_NNNNNNNNNN.h5", -1 for any other name. */
int64_t checkpoint_step_of(const char *path);

/* Makes dir (one level and its parents) if it is missing. Collective. */
checkpoint_status checkpoint_make_dir(MPI_Comm comm, const char *dir, sentence *why);
/* dir, or the nearest folder above it that is there. 0 or errno. */
int checkpoint_nearest_folder(char out[CHECKPOINT_PATH_BYTES], const char *path);
/* Do all ranks see the same folder there? Rank 0 makes a file in it, which all look for, and deletes it:
 * folders of one name on several hosts are several. OK too where rank 0 cannot write there. IO: why names a
 * rank and its host. Collective. */
checkpoint_status checkpoint_is_shared(MPI_Comm comm, const char *dir, sentence *why);
/* Step numbers of the checkpoints in dir, newest first; the array is the caller's to free. MISSING: no such
 * dir or none. */
checkpoint_status checkpoint_list(MPI_Comm comm, const char *dir, int64_t **steps, size_t *count);
/* checkpoint_list for one rank alone; *steps is the caller's to free. */
checkpoint_status checkpoint_list_here(const char *dir, int64_t **steps, size_t *count);

/* Another host made what a look here ended with `code` at: is it worth another look? A network file system
 * may for some seconds not know a name (ENOENT), or know another file by it (ESTALE). True after a pause, for
 * 10 s; *tries is 0 at first. */
bool checkpoint_look_again(int code, int *tries);
