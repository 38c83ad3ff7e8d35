#include "base/machine.h"

#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "output/record.h"
#include "ranks/check.h"

enum { RECORD_SCHEMA = 1 };

typedef struct rank_machine { /* what every rank sends to rank 0 */
    char host[64], name[256], uuid[48], binding[256];
    int sm_clock_mhz, mem_clock_mhz;
} rank_machine;

json_t *machine_record(const char *command, json_t *started)
{
    return json_pack("{s:i, s:s, s:s, s:s, s:o, s:O}", "schema", RECORD_SCHEMA, "program", "weft", "version", version_number,
                     "git", version_git, "command", record_text(command), "started", started);
}

static json_t *gpus_json(const rank_machine *m, int ranks)
{
    json_t *all = json_array();
    for (int i = 0; i < ranks; i++)
        if (m[i].uuid[0])
            json_array_append_new(all, json_pack("{s:i, s:s, s:s, s:i, s:i}", "rank", i, "name", m[i].name, "uuid",
                                                 m[i].uuid, "sm_clock_mhz", m[i].sm_clock_mhz, "mem_clock_mhz",
                                                 m[i].mem_clock_mhz));
    return all;
}

const char *machine_hdf5_version(void)
{
    static char version[32];
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    snprintf(version, sizeof version, "%u.%u.%u", major, minor, release);
    return version;
}

/* null: the machine is real. */
static json_t *simulated_json(const device_simulated *m)
{
    if (!m) return json_null();
    return json_pack("{s:o, s:o, s:o}", "platform", record_text(m->platform), "bytes_per_s", record_number(m->bytes_per_s), "launch_s",
                     record_number(m->launch_s));
}

static json_t *all_json(const topology *t, const device *d, const rank_machine *m)
{
    json_t *hosts = json_array(), *binding = json_array();
    for (int i = 0; i < t->ranks; i++) {
        bool seen = false;
        for (int j = 0; j < i && !seen; j++) seen = strcmp(m[i].host, m[j].host) == 0;
        if (!seen) json_array_append_new(hosts, json_string(m[i].host));
        json_array_append_new(binding, json_string(m[i].binding));
    }
    return json_pack("{s:o, s:o, s:o, s:s, s:s, s:o, s:s, s:i, s:o, s:o}", "hosts", hosts, "gpus", gpus_json(m, t->ranks), "driver",
                     d->driver[0] ? json_string(d->driver) : json_null(), "mpi", t->mpi_version, "hdf5", machine_hdf5_version(), "binding",
                     binding, "processor", d->name, "threads", d->threads, "placement", record_text_or_null(t->worst.text),
                     "simulated", simulated_json(d->simulated));
}

json_t *machine_json(const topology *t, const device *d)
{
    rank_machine mine, *all = NULL;
    memset(&mine, 0, sizeof mine);
    snprintf(mine.host, sizeof mine.host, "%s", t->host);
    snprintf(mine.name, sizeof mine.name, "%s", d->name);
    snprintf(mine.uuid, sizeof mine.uuid, "%s", d->uuid);
    snprintf(mine.binding, sizeof mine.binding, "%s", t->binding);
    mine.sm_clock_mhz = d->sm_clock_mhz;
    mine.mem_clock_mhz = d->mem_clock_mhz;
    if (t->rank == 0) all = CHECK_ALLOC(calloc((size_t)t->ranks, sizeof *all));
    MPI_CHECK(MPI_Gather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, 0, t->comm));
    json_t *machine = t->rank == 0 ? all_json(t, d, all) : NULL;
    free(all);
    return machine;
}
