/* A look at a state file by a process of its own, before this one opens it: HDF5 trusts its input, and some damaged files crash
 * it. There the child ends, and the file is one that is damaged. What the child looks at is all that HDF5 interprets:
 * attributes, datasets' shapes, types and places, checksums, the names of all that is there; of the data, nothing: in a state
 * file they are plain bytes. */
#ifndef CHECKPOINT_PROBE_H
#define CHECKPOINT_PROBE_H

#include "checkpoint.h"

/* Of the command line of a program that is such a child: "--probe-state-file=PATH". */
#define CHECKPOINT_PROBE_ARGUMENT "--probe-state-file="

/* The child's main: its exit status. The file's path; it calls no MPI. */
int checkpoint_probe_child(const char *path);
/* From here on files are looked at first, by children that run this program, which gives them its argument; "" or NULL: not. */
void checkpoint_probe_by(const char *self_exe);

#endif
