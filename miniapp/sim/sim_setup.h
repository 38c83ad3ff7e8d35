/* Makes a simulation as the plan has it (plan.h), and destroys it. */
#ifndef SIM_SETUP_H
#define SIM_SETUP_H

#include "sim/sim.h"

/* Collective. Creates everything but the fields' values. On failure: one sentence in why, an exit status other than 0
 * (2: the deck does not fit these ranks; 3: no device); sim_destroy is still called by the owner. self_exe: argv[0]'s
 * real path, for the probe of device-aware MPI. how_long: the plan may try how long what it chooses from takes, on the fields. */
int sim_create(sim *s, const config *cfg, const char *self_exe, bool how_long, sentence *why);
void sim_destroy(sim *s);

#endif
