/* Makes a simulation as the plan has it (plan.h), and destroys it. */
#pragma once

#include "sim/sim.h"

/* Collective. Creates everything but the fields' values. On failure: one sentence in why, an exit status other than 0
 * (2: the deck does not fit these ranks; 3: no device); sim_destroy is still called by the owner. how_long: the
 * plan may try how long what it chooses from takes, on the fields. */
int sim_create(sim *s, const config *cfg, bool how_long, sentence *why);
void sim_destroy(sim *s);
