/* The parts of a simulation, made as its plan has them; what is there already stays. For sim_create, and for
 * the trials that the plan asks for while it is made. All but sim_make_fields are collective. */
#pragma once

#include "sim/sim.h"

void sim_make_fields(sim *s);
/* Streams and the stencil's pass; the pass anew where the plan now takes other blocks of steps. */
void sim_make_pass(sim *s);
/* The pass over the transposed field, for kinds that go by lines. */
void sim_make_transposed_pass(sim *s);
/* Steps with in-kernel exchange; false with the reason, on all ranks. */
bool sim_make_inkernel(sim *s, sentence *why);
/* The memory and links of persistent passes; false with the reason, on all ranks. */
bool sim_make_persistent(sim *s, sentence *why);
/* The distributed transposes over t; false with the reason, on all ranks, where it cannot carry them. */
bool sim_make_redists(sim *s, transport_kind t, sentence *why);
/* All of them, once the plan is complete. */
void sim_make_parts(sim *s);
void sim_destroy_parts(sim *s);

/* ---- sim_trial.c ---- */

/* The plan's questions, answered by trials of a few passes and exchanges on the run's own fields, of which
 * the slowest rank decides. Collective; they cost the fields' values. */
typedef struct sim_trial {
    sim *s;
    double probes_s;         /* that the transports' first exchanges took so far */
    bool aware_known, aware; /* aware_works's answer */
    sentence aware_why;
} sim_trial;

/* t outlives the answer. how_long: else only what can be had is asked. */
plan_trial sim_trial_of(sim_trial *t, sim *s, bool how_long);
