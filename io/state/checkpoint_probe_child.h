/* The process of its own that looks at a file first (checkpoint_probe.h), where HDF5 may crash or go round
 * for ever. No MPI. */
#pragma once

#include "state/checkpoint_probe.h"

/* Of the command line of a program that is such a child: "--probe-state-file=WHAT". */
#define CHECKPOINT_PROBE_ARGUMENT "--probe-state-file="
/* A sound file's data, as numbers of 8 bytes, are read at least as fast: parent and child limit their time by
 * it. */
enum { CHECKPOINT_PROBE_SLOWEST_BYTES_PER_S = 10000000 };

/* The child's main: its exit status. WHAT has three lines: CHECKPOINT_PROBE_STATE or _ALL, or a dataset's
 * path, which begins with a slash; of a dataset the cells that it has to have, else 0; the file's path. The
 * last line alone: CHECKPOINT_PROBE_ALL. */
int checkpoint_probe_child(const char *what);
