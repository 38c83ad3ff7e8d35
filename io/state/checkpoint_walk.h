/* Everything in a file that HDF5 interprets, whoever reads it later. */
#pragma once

#include <hdf5.h>
#include <stdbool.h>

#include "core/sentence.h"

/* Opens all that is in the file and reads every attribute. False: in why, what cannot be read, and HDF5's
 * reason. By one rank. */
bool checkpoint_walk(hid_t file, sentence *why);
