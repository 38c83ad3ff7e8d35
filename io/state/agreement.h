/* How the main threads end a phase: each rank gives its status and some numbers, and all hear of the worst
 * status and of the largest of each number, by collectives that nobody waits for. Other messages of the phase
 * may end with them. */
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "state/state_status.h"

enum { AGREEMENT_NUMBERS_MAX = 32, AGREEMENT_REQUESTS_MAX = 4 };

typedef struct agreement {
    MPI_Comm comm; /* not owned; outlives it */
    int rank, ranks;
    /* the callers' [1 ..]; 0 until they are set */
    int64_t mine[AGREEMENT_NUMBERS_MAX], all[AGREEMENT_NUMBERS_MAX];
    MPI_Request pending[AGREEMENT_REQUESTS_MAX];
    int pending_count;
} agreement;

/* numbers: of mine, [0] included. */
void agreement_begin(agreement *a, state_status status, int numbers);
/* More that the agreement waits for, of all ranks: combined on all of them, or told by one. */
void agreement_allreduce(agreement *a, const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op);
void agreement_bcast(agreement *a, void *bytes, int count, int root);
/* To be asked until it is; then all[] holds. */
bool agreement_done(agreement *a);
state_status agreement_worst(const agreement *a);
int agreement_speaker(const agreement *a); /* the lowest rank with the worst status */
