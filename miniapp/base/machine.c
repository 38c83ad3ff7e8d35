#include "base/machine.h"

#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/record.h"
#include "ranks/check.h"
#include "ranks/ranks.h"

enum { RECORD_SCHEMA = 1 };

/* Both come from the Makefile, into this one object. */
#ifndef WEFT_VERSION
#define WEFT_VERSION "unknown"
#endif
#ifndef WEFT_GIT
#define WEFT_GIT "unknown"
#endif
const char version_number[] = WEFT_VERSION, version_git[] = WEFT_GIT;

json_t *machine_record(const char *command)
{
    return json_pack("{s:i, s:s, s:s, s:s, s:o, s:o}", "schema", RECORD_SCHEMA, "program", "weft", "version",
                     version_number, "git", version_git, "command", record_text(command), "started",
                     record_now());
}

const char *machine_hdf5_version(void)
{
    static char version[32];
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    snprintf(version, sizeof version, "%u.%u.%u", major, minor, release);
    return version;
}

json_t *machine_gather(const topology *t, json_t *mine)
{
    char *const text = CHECK_ALLOC(json_dumps(mine, JSON_COMPACT | JSON_ENCODE_ANY));
    const int bytes = (int)strlen(text) + 1;
    int width = bytes;
    MPI_CHECK(ranks_allreduce(&width, 1, MPI_INT, MPI_MAX, t->comm));
    char *const padded = CHECK_ALLOC(calloc((size_t)width, 1));
    char *const all = CHECK_ALLOC(calloc((size_t)t->ranks, (size_t)width));
    memcpy(padded, text, (size_t)bytes);
    MPI_CHECK(ranks_allgather(padded, (size_t)width, all, t->comm));
    json_t *const ranks = t->rank == 0 ? json_array() : NULL;
    for (int i = 0; i < t->ranks && ranks; i++)
        json_array_append_new(ranks, json_loads(all + (size_t)i * (size_t)width, JSON_DECODE_ANY, NULL));
    json_decref(mine);
    free(text);
    free(padded);
    free(all);
    return ranks;
}

/* An array, without keys: it is gathered from all ranks. A host's name comes from one of its ranks, a GPU
 * from those that have one. */
enum { RANK_HOST, RANK_BINDING, RANK_GPU };
static json_t *rank_json(const topology *t, const device *d)
{
    json_t *const gpu = d->uuid[0] ? json_pack("{s:i, s:o, s:s, s:i, s:i}", "rank", t->rank, "name",
                                               record_text(d->name), "uuid", d->uuid, "sm_clock_mhz",
                                               d->sm_clock_mhz, "mem_clock_mhz", d->mem_clock_mhz)
                                   : json_null();
    return json_pack("[o, o, o]", t->local_rank == 0 ? record_text(t->host) : json_null(),
                     record_text(t->binding), gpu);
}

/* Each rank's element, but null. */
static json_t *column(const json_t *ranks, size_t element)
{
    json_t *const all = json_array(), *rank;
    size_t i;
    json_array_foreach(ranks, i, rank) {
        json_t *const v = json_array_get(rank, element);
        if (!json_is_null(v)) json_array_append(all, v);
    }
    return all;
}

json_t *machine_json(const topology *t, const device *d)
{
    json_t *const ranks = machine_gather(t, rank_json(t, d)), *machine = NULL;
    int64_t most_bytes = memory_sim_bytes();
    const device_simulated *const m = d->simulated; /* NULL: the machine is real */
    if (m) MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &most_bytes, 1, MPI_INT64_T, MPI_MAX, t->comm));
    if (ranks)
        machine = json_pack(
            "{s:o, s:o, s:o, s:s, s:s, s:o, s:s, s:i, s:o, s:o}", "hosts", column(ranks, RANK_HOST),
            "gpus", column(ranks, RANK_GPU), "driver", record_text_or_null(d->driver), "mpi",
            t->mpi_version, "hdf5", machine_hdf5_version(), "binding", column(ranks, RANK_BINDING),
            "processor", d->name, "threads", d->threads, "placement", record_text_or_null(t->worst.text),
            "simulated",
            m ? json_pack("{s:o, s:o, s:o, s:I}", "platform", record_text(m->platform), "bytes_per_s",
                          record_number(m->bytes_per_s), "launch_s", record_number(m->launch_s),
                          "allocated_bytes", (json_int_t)most_bytes)
              : json_null());
    json_decref(ranks);
    return machine;
}
