#include "checkpoint_probe.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "checkpoint_part.h"
#include "topology_spawn.h"

static const double LIMIT_S = 120; /* of a file system that is slow to answer */

static char program[PATH_MAX];

void checkpoint_probe_by(const char *self_exe) { snprintf(program, sizeof program, "%s", self_exe ? self_exe : ""); }

int checkpoint_probe_child(const char *path)
{
    char why[CHECKPOINT_SENTENCE_BYTES], list[CHECKPOINT_LISTED_BYTES];
    checkpoint_info info = { .deck = NULL };
    hid_t file;
    if (checkpoint_h5_open(path, &file, why, sizeof why) != CHECKPOINT_OK) return 0; /* the parent finds that too */
    if (checkpoint_info_of(file, path, &info, why, sizeof why) == CHECKPOINT_OK) {
        const checkpoint_state s = checkpoint_fields_of(&info);
        for (int i = 0; i < s.fields; i++) {
            hid_t dataset;
            uint64_t fingerprint;
            checkpoint_sums sums;
            if (checkpoint_dataset_open(file, path, &s.field[i], s.type, &dataset, &fingerprint, why, sizeof why) == CHECKPOINT_OK)
                H5Dclose(dataset);
            if (checkpoint_sums_read(file, path, &s.field[i], &sums, why, sizeof why) == CHECKPOINT_OK) checkpoint_sums_free(&sums);
        }
    }
    checkpoint_list_datasets(file, list);
    (void)checkpoint_walk(file, why, sizeof why);
    checkpoint_info_free(&info);
    H5Fclose(file);
    return 0;
}

static checkpoint_status probe(const char *path, char *why, size_t why_bytes)
{
    char argument[sizeof CHECKPOINT_PROBE_ARGUMENT + CHECKPOINT_PATH_BYTES];
    snprintf(argument, sizeof argument, CHECKPOINT_PROBE_ARGUMENT "%s", path);
    const topology_spawn_end end = topology_spawn(program, argument, LIMIT_S);
    switch (end.how) {
    case TOPOLOGY_SPAWN_KILLED:
        return checkpoint_fail(CHECKPOINT_DAMAGED, why, why_bytes, "%s is damaged: HDF5 ends with '%s' where it reads it", path,
                               strsignal(end.code));
    case TOPOLOGY_SPAWN_TIMED_OUT:
        return checkpoint_fail(CHECKPOINT_DAMAGED, why, why_bytes, "%s is damaged: HDF5 was busy with it for %.0f s", path, LIMIT_S);
    case TOPOLOGY_SPAWN_EXITED:
        if (end.code == 0 || end.code == 127) break; /* 127: the program could not be started */
        return checkpoint_fail(CHECKPOINT_DAMAGED, why, why_bytes, "%s is damaged: HDF5 ends with status %d where it reads it",
                               path, end.code);
    case TOPOLOGY_SPAWN_FAILED: break; /* no process to be had is no fault of the file's */
    }
    return CHECKPOINT_OK;
}

checkpoint_status checkpoint_probe(MPI_Comm comm, const char *path, char *why, size_t why_bytes)
{
    int rank;
    if (!program[0]) return CHECKPOINT_OK;
    MPI_CHECK(MPI_Comm_rank(comm, &rank));
    return checkpoint_agree(comm, rank == 0 ? probe(path, why, why_bytes) : CHECKPOINT_OK, why, why_bytes);
}
