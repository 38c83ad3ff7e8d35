/* The plan's questions, answered by trials of a few passes and exchanges on the run's own fields, of which
 * the slowest rank decides. Collective; they cost the fields' values. */
#pragma once

#include "sim/sim.h"

typedef struct sim_trial {
    sim *s;
    double begin_s, budget_s; /* of the transports' first exchanges */
    bool aware_known, aware;  /* does MPI take device buffers? Asked once, and only if it matters: it
                               * takes a child process */
    sentence aware_why;
} sim_trial;

/* t outlives the answer. how_long: else only what can be had is asked. */
plan_trial sim_trial_of(sim_trial *t, sim *s, bool how_long);

/* Once the simulation is made: the kernel's variant. Its name is that of the kernel which takes the run's
 * steps. */
void sim_trial_choose_variant(sim *s);
const char *sim_trial_variant_name(const sim *s, int variant);
