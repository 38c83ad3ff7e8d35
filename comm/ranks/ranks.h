/* The ranks of a program, what they agree on, which of them share a host; and the collectives of those parts
 * that also work without MPI.
 *
 * Starting MPI takes a few tenths of a second and may fail for reasons of its own, so a command that needs no
 * other rank does not start it where no launcher started the command: its communicator is then MPI_COMM_NULL,
 * which has one rank, number 0. What such commands call uses these functions; what only several ranks or
 * `weft run` come to calls MPI itself. */
#pragma once

#include <mpi.h>
#include <stdbool.h>

#include "core/sentence.h"

/* Starts MPI where it is needed or a launcher is there: MPI_Init_thread with MPI_THREAD_FUNNELED (the main
 * thread calls MPI), and MPI_ERRORS_RETURN, which communicators inherit. */
void ranks_begin(bool needed);
/* Is MPI's world one rank although a launcher, by its environment, started several processes? It is another
 * MPI's then, and each of them would do all of the work and write all files. why: the sentence. */
bool ranks_apart(sentence *why);
/* Returns on every rank after all have come here. Does nothing without MPI. */
void ranks_end(void);
/* MPI_COMM_WORLD while MPI runs, whoever started it; else MPI_COMM_NULL. */
MPI_Comm ranks_world(void);

/* This rank's number in comm, and how many there are. */
int ranks_mine(MPI_Comm comm);
int ranks_count(MPI_Comm comm);
/* MPI's own, with its answer, for MPI_CHECK; on MPI_COMM_NULL what they are for one rank. allreduce works in
 * place. */
int ranks_barrier(MPI_Comm comm);
int ranks_bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm);
int ranks_allreduce(void *data, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int ranks_allgather(const void *mine, size_t bytes, void *all, MPI_Comm comm);
/* A communicator of the same ranks; the caller frees it. */
int ranks_dup(MPI_Comm comm, MPI_Comm *copy_of);
int ranks_free(MPI_Comm *comm);
/* Until it is complete this process sleeps: where ranks share cores, those that wait must not spin. A nap is
 * half a millisecond. */
void ranks_wait_asleep(MPI_Request *request);

/* ---- what all ranks must decide alike ----
 * Collective over comm; the same answer on every rank. */

bool agree_all(bool ok, MPI_Comm comm);
bool agree_any(bool one, MPI_Comm comm);
/* The largest number of all ranks; 0 says that it went well. Else why becomes that of the lowest rank that
 * has the largest. */
int agree_worst(int mine, sentence *why, MPI_Comm comm);
/* agree_all; where it is false, why becomes that of the lowest rank that is not ok. */
bool agree_or_say(bool ok, sentence *why, MPI_Comm comm);

/* ---- which ranks run on one host ----
 * MPI is asked for it here and nowhere else; names are never compared. */

typedef struct hosts {
    int count;
    int *of;       /* [rank]: the number of its host, counted in the order of their lowest ranks: rank 0 is on
                    * host 0 */
    int *rank;     /* all ranks, host after host, ascending in each */
    int *begin;    /* [count + 1]: host h has rank[begin[h]] .. rank[begin[h + 1] - 1] */
    MPI_Comm mine; /* the ranks of this rank's host; owned */
} hosts;

/* Collective. Debug builds: WEFT_PRETEND_HOSTS=N cuts the ranks into N hosts, for tests on one machine. */
hosts *hosts_create(MPI_Comm comm);
void hosts_destroy(hosts **h); /* collective over `mine` */
