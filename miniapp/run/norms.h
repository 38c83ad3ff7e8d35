/* The norms of a run's steps, as time.norm_every and time.tolerance ask. A norm that comes with its step is
 * judged when the next step is under way, so that the steps never wait; a level at which the run must know
 * (the last one, a checkpoint, a signal) is judged at once, and so is every norm that takes a pass of its
 * own. */
#pragma once

#include "sim/sim.h"

typedef struct norms {
    sim *sim;         /* not owned */
    int64_t every;    /* time.norm_every; 0: none */
    double tolerance; /* 0: none stops the run */
    bool ride;        /* they come with the steps: sim_norms_ride */
    bool shown;       /* every step takes its norm and none is judged: many such steps go in one graph, and
                       * its last norm is shown */
    int64_t pending;  /* the level whose norm is still to be read; -1: none */
    double last;      /* max |next - u| of the last level whose norm was read; NaN: none was */
    double seconds;   /* of this rank, spent on reading them */
} norms;

norms norms_begin(sim *s);
/* Steps to the next level that is to be judged; INT64_MAX: there is none. While a norm is pending that may
 * stop the run it is one, for only one step can be undone. */
int64_t norms_steps_to_go(const norms *n);
/* After a sim_advance; now: the present level's is not left pending. True when the run has converged, and
 * then the sim stands at the first level that did. Collective. */
bool norms_converged(norms *n, bool now);
