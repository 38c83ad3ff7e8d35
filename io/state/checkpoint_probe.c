#include "state/checkpoint_probe.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "ranks/check.h"
#include "ranks/ranks.h"
#include "state/checkpoint_directory.h"
#include "state/checkpoint_image.h"
#include "state/checkpoint_probe_child.h"
#include "topology/topology_spawn.h"

static const double LIMIT_S = 120; /* of a file system that is slow to answer */

static char program[PATH_MAX];

void checkpoint_probe_by(const char *self_exe)
{
    snprintf(program, sizeof program, "%s", self_exe ? self_exe : "");
}

static double file_bytes(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 ? (double)info.st_size : 0;
}

static checkpoint_status probe(const char *path, const char *what, int64_t cells, sentence *why)
{
    char argument[sizeof CHECKPOINT_PROBE_ARGUMENT + 2 * CHECKPOINT_PATH_BYTES + 32];
    const double limit_s = LIMIT_S + fmax((double)cells * sizeof(double), file_bytes(path)) /
                                         CHECKPOINT_PROBE_SLOWEST_BYTES_PER_S;
    snprintf(argument, sizeof argument, CHECKPOINT_PROBE_ARGUMENT "%.*s\n%" PRId64 "\n%s",
             CHECKPOINT_PATH_BYTES, what, cells, path);
    const topology_spawn_end end = topology_spawn(program, argument, limit_s);
    switch (end.how) {
    case TOPOLOGY_SPAWN_KILLED:
        return checkpoint_fail(CHECKPOINT_DAMAGED, why,
                               "%s is damaged: HDF5 crashes with '%s' while it reads it", path,
                               strsignal(end.code));
    case TOPOLOGY_SPAWN_TIMED_OUT:
        return checkpoint_fail(CHECKPOINT_DAMAGED, why,
                               "%s is damaged: HDF5 did not finish reading it within %.0f s", path, limit_s);
    case TOPOLOGY_SPAWN_EXITED:
        if (end.code == 0 || end.code == 127) break; /* 127: the program could not be started */
        return checkpoint_fail(CHECKPOINT_DAMAGED, why,
                               "%s is damaged: HDF5 ends with status %d while it reads it", path, end.code);
    case TOPOLOGY_SPAWN_FAILED: break; /* no process to be had is no fault of the file's */
    }
    return CHECKPOINT_OK;
}

/* Of a sealed file, HDF5 meets what it has made itself. */
static checkpoint_status look(const char *path, const char *what, int64_t cells, bool *sealed, sentence *why)
{
    const checkpoint_status status = checkpoint_seal_check(path, sealed, why);
    return status != CHECKPOINT_OK || *sealed || !program[0] ? status : probe(path, what, cells, why);
}

checkpoint_status checkpoint_probe(MPI_Comm comm, const char *path, const char *what, int64_t cells,
                                   bool *sealed, sentence *why)
{
    bool whole = false;
    checkpoint_status status = CHECKPOINT_OK;
    const int rank = ranks_mine(comm);
    if (rank == 0) status = look(path, what, cells, &whole, why);
    MPI_CHECK(ranks_bcast(&whole, 1, MPI_C_BOOL, 0, comm));
    if (sealed) *sealed = whole;
    return checkpoint_agree(comm, status, why);
}
