/* The request of a command line of `weft run`: a deck with the overrides applied, checked, the same on every
 * rank. */
#pragma once

#include <stdbool.h>

#include "base/cmd.h"
#include "config/config.h"

typedef struct request {
    config cfg;
    char *deck_text;     /* resolved; owned */
    const char *deck;    /* its path; points into argv */
    sentence ignored;    /* config_ignored_keys */
    const char *restart; /* file or directory, NULL: none; points into argv */
    bool restart_if_any; /* where restart is missing the run starts at step 0 */
    bool dry_run, explain, quiet;
    bool json; /* with dry_run: the plan as JSON, of: */
    int ranks, per_host;
    const char *answers; /* to what the plan's trial asks, NULL: none; points into argv */
} request;

extern const cmd_option request_options[];

/* Collective over MPI_COMM_WORLD. False with one sentence in why, the same on every rank. */
bool request_make(request *q, int argc, char **argv, sentence *why);
void request_free(request *q);

/* Looks at the outputs of a run. A file that is replaced (output.final and its description, picture, trace)
 * is new or a regular file, since a device, a pipe or a link would be lost to it; output.record is appended
 * to, so it may be any of these. A folder is one, or new. No two outputs have one name, however it is spelt,
 * and none has that of an input (a folder may be gone on with).
 *
 * The folder of output.record is made, but by a dry run.
 *
 * Rank 0 looks; collective, also without MPI. 0, or the exit status with one sentence in why. */
int request_check_outputs(const request *q, sentence *why);
