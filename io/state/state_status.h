/* How a call on a state ended, its sentence, and how ranks come to one answer.
 * The rule that keeps ranks from waiting for one another: between two collective calls every rank's status
 * goes through state_agree, and after a failure only calls that all ranks make follow. */
#pragma once

#include <mpi.h>

#include "core/sentence.h"

typedef enum state_status {
    STATE_OK,
    STATE_MISSING, /* no such file or folder, or nothing in it: the user's mistake */
    STATE_BUSY,    /* another run writes there: the user's mistake too */
    STATE_DAMAGED, /* not a state, a part missing, a checksum or fingerprint that does not match */
    STATE_IO,      /* the file system's failure: full, unwritable, not to be read */
} state_status;

/* This host's name, for a sentence. */
enum { STATE_HOST_BYTES = 64 };
const char *state_host(char out[STATE_HOST_BYTES]);

/* The worst status of all ranks; why becomes the sentence of the lowest rank that has it. Collective. */
state_status state_agree(MPI_Comm comm, state_status mine, sentence *why);
/* 0; the user's mistake: CHECK_EXIT_USAGE; else CHECK_EXIT_ENVIRONMENT. */
int state_exit(state_status status);
/* Formats why and returns status. */
state_status state_fail(state_status status, sentence *why, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "cannot WHAT PATH: text of the errno code"; STATE_IO. */
state_status state_file_failed(const char *what, const char *path, int code, sentence *why);
/* Opens a regular file for reading. MISSING: there is none; DAMAGED: a pipe or a device; IO. */
state_status state_file_open(const char *path, int *fd, sentence *why);
