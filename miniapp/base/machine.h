/* The version of this binary, the head of every record, and the machine that it was made on. */
#pragma once

#include <jansson.h>

#include "device/device.h"
#include "topology/topology.h"

extern const char version_number[]; /* "1.0.0" */
extern const char version_git[];    /* "a1b2c3d", "a1b2c3d-dirty"; "unknown" outside checkouts and archives */

/* {schema, program, version, git, command, started}, started now. */
json_t *machine_record(const char *command);

/* The HDF5 library in use: "1.10.8". */
const char *machine_hdf5_version(void);

/* An array of what each rank has, on rank 0 of t->comm; NULL on the others. Takes the reference to mine.
 * Collective, also without MPI. */
json_t *machine_gather(const topology *t, json_t *mine);

/* Hosts, GPUs, driver, libraries, binding of the ranks of t->comm. Collective over it; NULL on all but its
 * rank 0. */
json_t *machine_json(const topology *t, const device *d);
