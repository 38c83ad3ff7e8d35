/* weft info: what this build, this MPI and the devices of these ranks offer. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "cmd.h"
#include "cmd_table.h"
#include "topology.h"
#include "version.h"

typedef struct rank_line {
    char text[512];
} rank_line;

int cmd_info(int argc, char **argv)
{
    (void)cmd_begin();
    char why[512], notes[512];
    if (!cmd_table_options_known("info", argc, argv, why, sizeof why)) return cmd_end(cmd_say(CHECK_EXIT_USAGE, "%s", why));
    const char *no_cuda = NULL;
    topology t;
    topology_create(&t);
    device *d = topology_device(&t, TOPOLOGY_AUTO, 0, why, sizeof why, notes, sizeof notes);
    if (!d) return cmd_end(cmd_say(CHECK_EXIT_ENVIRONMENT, "%s", why));
    const int gpus = device_cuda_count(&no_cuda);

    rank_line mine, *all = t.rank == 0 ? calloc((size_t)t.ranks, sizeof *all) : NULL;
    if (t.rank == 0 && !all) check_fail(__FILE__, __LINE__, "calloc", "out of memory");
    snprintf(mine.text, sizeof mine.text, "rank %d on %.60s: %.200s %.47s, cpus %.120s", t.rank, t.host, d->name, d->uuid, t.binding);
    MPI_CHECK(MPI_Gather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, 0, t.comm));
    if (t.rank == 0) {
        unsigned major = 0, minor = 0, release = 0;
        H5get_libversion(&major, &minor, &release);
        printf("weft    %s (%s), CUDA %s\n", version_number, version_git, device_cuda_built() ? "built in" : "not built in");
        printf("mpi     %s; claims CUDA support: %s\n", t.mpi_version, t.mpi_claims_cuda ? "yes" : "no");
        printf("hdf5    %u.%u.%u\n", major, minor, release);
        if (gpus > 0) printf("gpus    %d visible to rank 0, driver %s\n", gpus, d->driver);
        else printf("gpus    none: %s\n", no_cuda ? no_cuda : "no reason given");
        for (int i = 0; i < t.ranks; i++) printf("%s\n", all[i].text);
        if (notes[0]) printf("note    %s\n", notes);
    }
    free(all);
    device_destroy(&d);
    topology_destroy(&t);
    return cmd_end(0);
}
