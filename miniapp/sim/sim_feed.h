/* Who enqueues a run's steps: what was asked where it works, else what serves best, with a sentence for what cannot be had. */
#ifndef SIM_FEED_H
#define SIM_FEED_H

#include "sim/sim.h"

/* For sim_create: feed and streams without graphs; and, once there are passes, whether graphs it is. Collective. */
void sim_choose_feed(sim *s);
void sim_settle_feed(sim *s);

#endif
