/* The folder of states, and names in it. A network file system's clients remember for seconds that a name was
 * not there: no rank looks for a name before the rank that makes it has. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "state/state.h"

/* DIR/step_NNNNNNNNNN.h5 */
void state_path(char *out, size_t out_bytes, const char *dir, int64_t step);
/* The step of "DIR/step_NNNNNNNNNN.h5", -1 for any other name. */
int64_t state_step_of(const char *path);

/* Makes dir and its parents if they are missing. Collective. */
state_status state_make_folder(MPI_Comm comm, const char *dir, sentence *why);
/* dir, or the nearest folder above it that is there. 0 or errno. */
int state_nearest_folder(char out[STATE_PATH_BYTES], const char *path);
/* fsync of a folder, where that is to be had: not on all file systems, nor of one that may be entered but not
 * read. 0 or errno. */
int state_sync_folder(const char *path);
/* Do all ranks see the same folder there, and may they write in it? Rank 0 makes a file in the nearest folder
 * that is there, which all look for, and deletes it. OK too where rank 0 cannot write there. IO: why names a
 * rank and its host. Collective. */
state_status state_is_shared(MPI_Comm comm, const char *dir, sentence *why);
/* Step numbers of the states in dir, newest first; the array is the caller's to free. MISSING: no such dir or
 * none. Collective; _here: by one rank alone. */
state_status state_list(MPI_Comm comm, const char *dir, int64_t **steps, size_t *count);
state_status state_list_here(const char *dir, int64_t **steps, size_t *count);

/* A look at what another host made ended with `code`: is it worth another look? A network file system may
 * for some seconds not know a name (ENOENT, ESTALE). True after a pause, for 10 s; *tries is 0 at first. */
bool state_look_again(int code, int *tries);
