/* Makes a simulation: cuts the domain, allocates fields, has the choosers (sim_transport.h, sim_temporal.h, sim_feed.h) decide what
 * the deck leaves open, and makes the passes; destroys it. */
#ifndef SIM_SETUP_H
#define SIM_SETUP_H

#include "sim/sim.h"

/* Collective. Creates everything but the fields' values. On failure: one sentence in why, an exit status other than 0
 * (2: the deck does not fit these ranks; 3: no device); sim_destroy is still called by the owner. self_exe: argv[0]'s
 * real path, for the probe of device-aware MPI. sparing: the host gives memory to what is written, and of fields
 * that nobody will fill only what a trial steps over is. */
int sim_create(sim *s, const config *cfg, const char *self_exe, bool sparing, sentence *why);
void sim_destroy(sim *s);

#endif
