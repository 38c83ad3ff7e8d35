/* What a run writes, looked at before anything is made of it: a long run must not find out at its end that a
 * file cannot be made, replaces what is no file, or stands in the way of another. */
#pragma once

#include <mpi.h>

#include "config/config.h"

/* While a file is written it is called NAME.tmp.<16 hexadecimal digits>. */
enum { OUTPUTS_TMP_BYTES = 21 };

/* Of files that are replaced (output.final and its description, picture, trace): the name is new or a regular
 * file's, since a device, a pipe or a link would be lost to the file. output.record is appended to, so it may
 * be any of these. Of folders: a folder, or new. No two outputs have one name, however it is spelt, and none
 * has that of the deck, of problem.initial or of --restart (NULL: none; a folder may be gone on with). Names
 * leave room for what is put behind them.
 *
 * Rank 0 looks; collective, also without MPI. 0, or the exit status with one sentence in why. */
int outputs_check(MPI_Comm comm, const config *c, const char *deck_path, const char *restart, sentence *why);
