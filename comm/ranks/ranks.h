/* The ranks of a program, and the collectives of those parts that also work without MPI.
 *
 * Starting MPI takes a few tenths of a second and may fail for reasons of its own, so a command that needs no
 * other rank does not start it where no launcher started the command: its communicator is then MPI_COMM_NULL,
 * which has one rank, number 0. What such commands call uses these functions; what only several ranks or
 * `weft run` come to calls MPI itself. */
#pragma once

#include <mpi.h>
#include <stdbool.h>

/* Starts MPI where it is needed or a launcher is there: MPI_Init_thread with MPI_THREAD_FUNNELED (the main
 * thread calls MPI), and MPI_ERRORS_RETURN. */
void ranks_begin(bool needed);
/* Returns on every rank after all have come here. Does nothing without MPI. */
void ranks_end(void);
/* MPI_COMM_WORLD while MPI runs, whoever started it; else MPI_COMM_NULL. */
MPI_Comm ranks_world(void);

/* This rank's number in comm, and how many there are. */
int ranks_mine(MPI_Comm comm);
int ranks_count(MPI_Comm comm);
/* As MPI's own, with its arguments and its answer, for MPI_CHECK; on MPI_COMM_NULL what they are for one
 * rank. Types: those that ranks.c lists. */
int ranks_barrier(MPI_Comm comm);
int ranks_bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm);
int ranks_allreduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int ranks_allgather(const void *mine, int count, MPI_Datatype type, void *all, int each, MPI_Datatype of,
                    MPI_Comm comm);
int ranks_gather(const void *mine, int count, MPI_Datatype type, void *all, int each, MPI_Datatype of,
                 int root, MPI_Comm comm);
/* A communicator of the same ranks, or of those on this rank's host, with MPI_ERRORS_RETURN; the caller frees
 * it. */
int ranks_dup(MPI_Comm comm, MPI_Comm *copy_of);
int ranks_of_host(MPI_Comm comm, MPI_Comm *host);
int ranks_free(MPI_Comm *comm);
/* Until it is complete this process sleeps: where ranks share cores, those that wait must not spin. A nap is
 * half a millisecond. */
void ranks_wait_asleep(MPI_Request *request);
void ranks_nap(void);
