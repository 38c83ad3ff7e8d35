/* One exchange of device buffers through MPI, checked. Private to comm/: the probe's child and the probe over the real
 * ranks use the same one. */
#ifndef TOPOLOGY_PROBE_H
#define TOPOLOGY_PROBE_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#include "device.h"

typedef enum topology_probe_result {
    TOPOLOGY_PROBE_ARRIVED,
    TOPOLOGY_PROBE_NO_MEMORY,
    TOPOLOGY_PROBE_MPI_FAILED,
    TOPOLOGY_PROBE_TIMED_OUT,
    TOPOLOGY_PROBE_WRONG_DATA,
} topology_probe_result;

/* Sends `bytes` of a pattern of this rank's own to `to` and receives as many from `from`, both from and into device
 * memory. Never waits longer than limit_s; after a time-out its buffers are left to MPI (they cannot be taken back). */
topology_probe_result topology_probe_exchange(device *d, MPI_Comm comm, int to, int from, size_t bytes, double limit_s);

/* A part of a sentence: "... data arrived damaged". */
const char *topology_probe_text(topology_probe_result r);

#endif
