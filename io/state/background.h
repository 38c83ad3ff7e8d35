/* One thread beside the main one, or none, that does one job at a time: without a thread background_start
 * does it at once. It calls neither MPI nor HDF5, gets no signals, and is a team of one where a job meets an
 * OpenMP pragma: the cores are the time steps'. A job and what it points at belong to the thread from
 * background_start until background_done has returned true. All functions are the main thread's. */
#pragma once

#include <stdbool.h>

typedef struct background background;

/* thread: there is to be one. NULL: there can be none, or no memory; errno says why. */
background *background_create(bool thread);
/* The job before this one is done. */
void background_start(background *b, void (*job)(void *), void *arg);
/* Has the last job ended? Never waits. True where none was started. */
bool background_done(background *b);
/* Waits for the last job. Accepts NULL. */
void background_destroy(background **b);
