/* The fields of a state file as VTK's own readers know them. */
#pragma once

#include <hdf5.h>

#include "state/checkpoint_state.h"

/* By one rank: the group /VTKHDF, views of the fields that s has in the file. */
bool checkpoint_vtkhdf_write(hid_t root, const checkpoint_state *s);
