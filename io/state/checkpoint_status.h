/* How a call on a state file ended, its sentence, and how ranks come to one answer.
 * The rule that keeps ranks from waiting for one another: between two collective calls every rank's status
 * goes through checkpoint_agree, and after a failure only calls that all ranks make follow. */
#pragma once

#include <mpi.h>

#include "core/sentence.h"

typedef enum checkpoint_status {
    CHECKPOINT_OK,
    CHECKPOINT_MISSING, /* no such file or directory, or nothing in it: the user's business */
    CHECKPOINT_BUSY,    /* another run writes in this directory: the user's business too */
    CHECKPOINT_DAMAGED, /* not HDF5, a part missing, a fingerprint that does not match */
    CHECKPOINT_IO,      /* the file system's failure: full, unwritable, not to be read */
} checkpoint_status;

/* This host's name, for a sentence. */
enum { CHECKPOINT_HOST_BYTES = 64 };
const char *checkpoint_host(char out[CHECKPOINT_HOST_BYTES]);

/* The worst status of all ranks; why becomes the sentence of the lowest rank that has it. Collective. */
checkpoint_status checkpoint_agree(MPI_Comm comm, checkpoint_status mine, sentence *why);
/* 0; the user's business: CHECK_EXIT_USAGE; else CHECK_EXIT_ENVIRONMENT. */
int checkpoint_exit(checkpoint_status status);
/* Formats why and returns status. */
checkpoint_status checkpoint_fail(checkpoint_status status, sentence *why, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "cannot WHAT PATH: text of the errno code"; CHECKPOINT_IO. */
checkpoint_status checkpoint_file_failed(const char *what, const char *path, int code, sentence *why);
