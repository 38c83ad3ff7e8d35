#include "base/machine.h"

#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "device/device_sim.h"
#include "output/record.h"
#include "ranks/check.h"

enum { RECORD_SCHEMA = 1 };

enum { WORD_HOST, WORD_BINDING, WORD_NAME, WORD_UUID, WORD_SM_CLOCK, WORD_MEM_CLOCK, WORDS };

/* What a rank sends to rank 0: words, each with its 0 byte. A host's name is sent by one of its ranks, a
 * device's by those with a GPU. */
enum { RANK_BYTES_MAX = 1024 };

json_t *machine_record(const char *command, json_t *started)
{
    return json_pack("{s:i, s:s, s:s, s:s, s:o, s:O}", "schema", RECORD_SCHEMA, "program", "weft", "version",
                     version_number, "git", version_git, "command", record_text(command), "started", started);
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
static json_t *simulated_json(const device_simulated *m, int64_t most_bytes)
{
    if (!m) return json_null();
    return json_pack("{s:o, s:o, s:o, s:I}", "platform", record_text(m->platform), "bytes_per_s",
                     record_number(m->bytes_per_s), "launch_s", record_number(m->launch_s), "allocated_bytes",
                     (json_int_t)most_bytes);
}

static int put_words(char out[RANK_BYTES_MAX], const topology *t, const device *d)
{
    char sm_clock[16], mem_clock[16];
    const char *const word[WORDS] = { [WORD_HOST] = t->local_rank == 0 ? t->host : "",
                                      [WORD_BINDING] = t->binding,
                                      [WORD_NAME] = d->uuid[0] ? d->name : "",
                                      [WORD_UUID] = d->uuid,
                                      [WORD_SM_CLOCK] = sm_clock,
                                      [WORD_MEM_CLOCK] = mem_clock };
    int used = 0;
    snprintf(sm_clock, sizeof sm_clock, "%d", d->sm_clock_mhz);
    snprintf(mem_clock, sizeof mem_clock, "%d", d->mem_clock_mhz);
    for (int i = 0; i < WORDS; i++)
        used += 1 + snprintf(out + used, (size_t)(RANK_BYTES_MAX - used), "%s", word[i]);
    return used;
}

typedef struct all_ranks { /* of JSON; known: the values of texts, so that ranks share them */
    json_t *hosts, *gpus, *binding, *known_hosts, *known_bindings;
} all_ranks;

/* *first: the text was not there before. */
static json_t *once(json_t *known, const char *text, bool *first)
{
    *first = !json_object_get(known, text);
    if (*first) json_object_set_new(known, text, json_string(text));
    return json_object_get(known, text);
}

static void add_rank(all_ranks *all, int rank, const char *at)
{
    const char *word[WORDS];
    bool first;
    for (int i = 0; i < WORDS; i++) {
        word[i] = at;
        at += strlen(at) + 1;
    }
    json_array_append(all->binding, once(all->known_bindings, word[WORD_BINDING], &first));
    json_t *const host = once(all->known_hosts, word[WORD_HOST], &first);
    if (first && word[WORD_HOST][0]) json_array_append(all->hosts, host);
    if (word[WORD_UUID][0])
        json_array_append_new(all->gpus,
                              json_pack("{s:i, s:s, s:s, s:i, s:i}", "rank", rank, "name", word[WORD_NAME],
                                        "uuid", word[WORD_UUID], "sm_clock_mhz", atoi(word[WORD_SM_CLOCK]),
                                        "mem_clock_mhz", atoi(word[WORD_MEM_CLOCK])));
}

static json_t *all_json(const topology *t, const device *d, const char *all, int width, int64_t most_bytes)
{
    all_ranks a = { json_array(), json_array(), json_array(), json_object(), json_object() };
    for (int r = 0; r < t->ranks; r++) add_rank(&a, r, all + (size_t)r * (size_t)width);
    json_decref(a.known_hosts);
    json_decref(a.known_bindings);
    return json_pack("{s:o, s:o, s:o, s:s, s:s, s:o, s:s, s:i, s:o, s:o}", "hosts", a.hosts, "gpus", a.gpus,
                     "driver", d->driver[0] ? json_string(d->driver) : json_null(), "mpi", t->mpi_version,
                     "hdf5", machine_hdf5_version(), "binding", a.binding, "processor", d->name, "threads",
                     d->threads, "placement", record_text_or_null(t->worst.text), "simulated",
                     simulated_json(d->simulated, most_bytes));
}

json_t *machine_json(const topology *t, const device *d)
{
    char mine[RANK_BYTES_MAX] = "", *all = NULL;
    int bytes = put_words(mine, t, d), width = bytes;
    MPI_CHECK(MPI_Allreduce(&bytes, &width, 1, MPI_INT, MPI_MAX, t->comm));
    if (t->rank == 0) all = CHECK_ALLOC(malloc((size_t)t->ranks * (size_t)width));
    MPI_CHECK(MPI_Gather(mine, width, MPI_BYTE, all, width, MPI_BYTE, 0, t->comm));
    int64_t most_bytes = memory_sim_bytes();
    if (d->simulated) MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &most_bytes, 1, MPI_INT64_T, MPI_MAX, t->comm));
    json_t *machine = t->rank == 0 ? all_json(t, d, all, width, most_bytes) : NULL;
    free(all);
    return machine;
}
