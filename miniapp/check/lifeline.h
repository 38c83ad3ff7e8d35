/* Who lives, whatever MPI and the device do: each rank holds a TCP connection to rank 0. When a process is
 * gone, on whichever host and by whatever signal, the kernel closes its end. What closes nothing, a host
 * without power or a process that stands still, does not answer.
 *
 * Disadvantages: rank 0 has a descriptor per rank, and where a firewall lets no rank through, or there is no
 * IPv4, nothing is known of it: it never answers. */
#pragma once

#include <mpi.h>
#include <stdbool.h>

typedef struct lifeline lifeline;

/* Collective. */
lifeline *lifeline_create(MPI_Comm comm);
void lifeline_destroy(lifeline **l);

/* By one thread of each rank: waits that long, -1: for ever, or until something comes, and takes note of it.
 * The first call on a rank other than 0 connects, which takes seconds where no packet comes back from rank 0.
 * False, on those: there is nothing more to come. */
bool lifeline_look(lifeline *l, int wait_ms);

/* On rank 0. It was connected, and its process is gone. */
bool lifeline_lost(const lifeline *l, int rank);
/* Has a rank asked for an end, or for one at once? */
bool lifeline_stop(const lifeline *l, bool at_once);
/* Asks all for an answer, which their threads give; and has that one come? */
void lifeline_ask(lifeline *l);
bool lifeline_answered(const lifeline *l, int rank);
/* The end of rank 0 is no loss from here on. status: with which the others are to leave at once;
 * LIFELINE_END: it goes on without the lifeline. Waits a moment for the others to close. */
enum { LIFELINE_END = -1, LIFELINE_LOST = -2 };
void lifeline_farewell(lifeline *l, int status);

/* On the others, by the thread that looks. */
void lifeline_ask_to_stop(lifeline *l, bool at_once);
/* On the others, once lifeline_look was false: what rank 0 said at the end; LIFELINE_LOST: it is gone, and
 * said nothing. */
int lifeline_said(const lifeline *l);
/* Does a rank between 0 and this one live? Where all ask, the lowest finds none. Takes half a second for each
 * that is on a host without power. */
bool lifeline_lower_lives(const lifeline *l);
