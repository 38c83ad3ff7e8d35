/* Which transports a run uses: what was asked where it works, else what serves best (transport_selection.h), with a sentence for
 * whatever was asked and cannot be had. */
#ifndef SIM_TRANSPORT_H
#define SIM_TRANSPORT_H

#include "sim/sim.h"

/* For sim_create, once there are grids and fields: transport, choice, transposed_choice, redist_transport. Collective; costs the
 * fields' values. */
void sim_choose_transports(sim *s, const char *self_exe);

#endif
