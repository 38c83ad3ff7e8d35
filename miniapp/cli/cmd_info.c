/* weft info: what this build, this MPI and the devices of these ranks offer. Everything is put into one JSON
 * object first; the table for people is read from that, so that the two never differ. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cmd.h"
#include "base/machine.h"
#include "base/terminal.h"
#include "base/version.h"
#include "output/record.h"
#include "ranks/check.h"
#include "ranks/printable.h"
#include "ranks/ranks.h"
#include "topology/topology.h"
#include "transports/transport.h"

const cmd_option cmd_info_options[CMD_OPTIONS_MAX] = {
    { "--json", NULL, "print one JSON object, for programs" },
};

/* ---- the object ---- */

static const char *thread_level_name(int level)
{
    switch (level) {
    case MPI_THREAD_SINGLE: return "single";
    case MPI_THREAD_FUNNELED: return "funneled";
    case MPI_THREAD_SERIALIZED: return "serialized";
    case MPI_THREAD_MULTIPLE: return "multiple";
    default: return NULL; /* not started */
    }
}

static json_t *rank_json(const topology *t, device *d)
{
    const placement *at = &t->at;
    char near[128];
    size_t free_bytes = 0, total_bytes = 0;
    host_limit by;
    placement_nics(at, sysfs_root(), near, sizeof near);
    DEVICE_CALL(d, memory_info, &free_bytes, &total_bytes);
    const double mine_bytes = topology_free_bytes(t, d, &by);
    if (by == HOST_LIMIT_PROCESS) free_bytes = (size_t)mine_bytes;
    return json_pack("{s:i, s:o, s:s, s:o, s:o, s:o, s:o, s:I, s:I, s:s, s:i, s:s, s:o, s:o, s:o, s:o, s:o}",
                     "rank", t->rank, "host", record_text(t->host), "device",
                     d->kind == DEVICE_CUDA ? "cuda" : "host", "name", record_text(d->name), "gpu",
                     t->pci[0] ? json_integer(d->ordinal) : json_null(), "uuid", record_text_or_null(d->uuid),
                     "pci", record_text_or_null(t->pci), "memory_bytes", (json_int_t)total_bytes,
                     "free_bytes", (json_int_t)free_bytes, "memory_limit", host_limit_name[by], "threads",
                     d->threads, "cpus", t->binding, "numa_nodes", record_text_or_null(at->nodes),
                     "gpu_numa_node", at->near_node >= 0 ? json_integer(at->near_node) : json_null(),
                     "gpu_cpus", record_text_or_null(at->near_cpus), "nics", record_text_or_null(near),
                     "wrong", record_text_or_null(t->wrong.text));
}

static json_t *built_json(void)
{
    bool debug = false;
#ifdef WEFT_DEBUG
    debug = true;
#endif
    return json_pack("{s:b, s:b, s:b, s:i, s:s}", "cuda", device_cuda_built(), "nccl", transport_nccl_built,
                     "debug", debug, "openmp", _OPENMP, "compiler", __VERSION__);
}

/* works: did device buffers arrive, where that was tried? */
static json_t *mpi_json(const topology *t, const device *d, bool works, const char *why)
{
    int version = 0, subversion = 0;
    char standard[32];
    MPI_CHECK(MPI_Get_version(&version, &subversion));
    snprintf(standard, sizeof standard, "%d.%d", version, subversion);
    const bool tried = d->kind == DEVICE_CUDA && t->mpi_claims_cuda;
    return json_pack("{s:o, s:s, s:o, s:b, s:o, s:o}", "version", record_text(t->mpi_version), "standard",
                     standard, "thread_level", record_text_or_null(thread_level_name(t->thread_level)),
                     "claims_cuda", t->mpi_claims_cuda, "takes_device_buffers",
                     tried ? json_boolean(works) : json_null(), "why_not",
                     works ? json_null() : record_text_or_null(why));
}

static json_t *hdf5_json(void)
{
#ifdef H5_HAVE_PARALLEL
    const bool parallel = true;
#else
    const bool parallel = false;
#endif
    return json_pack("{s:s, s:b}", "version", machine_hdf5_version(), "parallel", parallel);
}

/* ---- the table ---- */

static const char *text_of(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    return json_is_string(v) ? printable_text(json_string_value(v)) : "unknown";
}

static int int_of(const json_t *o, const char *key)
{
    return (int)json_integer_value(json_object_get(o, key));
}

static const char *yes_or_no(const json_t *o, const char *key)
{
    return json_is_true(json_object_get(o, key)) ? "yes" : "no";
}

typedef struct host_table {
    const json_t *ranks;
    const hosts *where;
    int *like; /* [host]: the first host that is like it, perhaps itself */
} host_table;

static json_t *rank_at(const host_table *t, int host, int place)
{
    return json_array_get(t->ranks, (size_t)t->where->rank[t->where->begin[host] + place]);
}

static int ranks_on(const host_table *t, int host)
{
    return t->where->begin[host + 1] - t->where->begin[host];
}

/* Compares all but what names a rank or a GPU, and what changes from second to second. */
static bool are_alike(const host_table *t, int a, int b)
{
    static const char *const own[] = { "rank", "host", "uuid", "free_bytes" };
    bool alike = ranks_on(t, a) == ranks_on(t, b);
    for (int place = 0; place < ranks_on(t, a) && alike; place++) {
        json_t *of_a = json_copy(rank_at(t, a, place));
        for (size_t i = 0; i < sizeof own / sizeof *own; i++)
            json_object_set(of_a, own[i], json_object_get(rank_at(t, b, place), own[i]));
        alike = json_equal(of_a, rank_at(t, b, place));
        json_decref(of_a);
    }
    return alike;
}

/* The columns of a rank's row, each a member of its object. */
static const struct {
    const char *heading, *key;
    int width;
} column[] = {
    { "PCI address", "pci", 12 }, { "node", "gpu_numa_node", 4 }, { "near cores", "gpu_cpus", 12 },
    { "may use", "cpus", 12 },    { "node", "numa_nodes", 4 },    { "near NICs", "nics", 10 },
};
enum { COLUMNS = sizeof column / sizeof *column };

static void print_headings(FILE *to)
{
    fprintf(to, "         %-14s", "GPU");
    for (int i = 0; i < COLUMNS; i++) fprintf(to, " %-*s", column[i].width, column[i].heading);
    fprintf(to, " free GB\n");
}

static void print_rank(FILE *to, const json_t *r)
{
    static const double gb = 1e-9;
    char cell[32] = "-";
    if (json_is_string(json_object_get(r, "uuid")))
        snprintf(cell, sizeof cell, "%d %.12s", int_of(r, "gpu"), text_of(r, "uuid"));
    fprintf(to, "rank %-3d %-14s", int_of(r, "rank"), cell);
    for (int i = 0; i < COLUMNS; i++) {
        const json_t *v = json_object_get(r, column[i].key);
        if (json_is_integer(v)) snprintf(cell, sizeof cell, "%d", int_of(r, column[i].key));
        else snprintf(cell, sizeof cell, "-");
        fprintf(to, " %-*s", column[i].width, json_is_string(v) ? text_of(r, column[i].key) : cell);
    }
    fprintf(to, " %.4g/%.4g", gb * json_number_value(json_object_get(r, "free_bytes")),
            gb * json_number_value(json_object_get(r, "memory_bytes")));
    if (strcmp(text_of(r, "memory_limit"), host_limit_name[HOST_LIMIT_MACHINE]) != 0)
        fprintf(to, " by %s", text_of(r, "memory_limit"));
    fputc('\n', to);
    if (json_is_string(json_object_get(r, "wrong"))) fprintf(to, "         WRONG: %s\n", text_of(r, "wrong"));
}

static void print_host(FILE *to, const host_table *t, int host)
{
    enum { NAMED = 3 };
    int alike = 0;
    const json_t *first = rank_at(t, host, 0);
    fprintf(to, "host     %s", text_of(first, "host"));
    for (int h = host + 1; h < t->where->count; h++)
        if (t->like[h] == host && alike++ < NAMED)
            fprintf(to, "%s%s", alike == 1 ? " and, alike, " : ", ", text_of(rank_at(t, h, 0), "host"));
    if (alike > NAMED) fprintf(to, " and %d more", alike - NAMED);
    fprintf(to, ": %d rank%s, %s", ranks_on(t, host), ranks_on(t, host) == 1 ? "" : "s",
            text_of(first, "name"));
    if (int_of(first, "threads") > 0) fprintf(to, ", threads: %d", int_of(first, "threads"));
    fputc('\n', to);
    for (int place = 0; place < ranks_on(t, host); place++) print_rank(to, rank_at(t, host, place));
}

/* Hosts that are alike are one block, or a thousand ranks would fill pages. */
static void print_hosts(FILE *to, const json_t *ranks, const hosts *where)
{
    const host_table t = { ranks, where, CHECK_ALLOC(malloc((size_t)where->count * sizeof *t.like)) };
    print_headings(to);
    for (int h = 0; h < where->count; h++) {
        t.like[h] = 0;
        while (t.like[h] < h && !are_alike(&t, t.like[h], h)) t.like[h]++;
    }
    for (int h = 0; h < where->count; h++)
        if (t.like[h] == h) print_host(to, &t, h);
    free(t.like);
}

static void print_table(FILE *to, const json_t *o, const hosts *where)
{
    const json_t *built = json_object_get(o, "built"), *mpi = json_object_get(o, "mpi"),
                 *hdf5 = json_object_get(o, "hdf5");
    const json_t *takes = json_object_get(mpi, "takes_device_buffers"),
                 *gpus = json_object_get(o, "gpus_visible");
    fprintf(to, "weft     %s (%s)\n", text_of(o, "version"), text_of(o, "git"));
    fprintf(to, "built    CUDA: %s, NCCL: %s, debug: %s, OpenMP %" JSON_INTEGER_FORMAT ", compiler %s\n",
            yes_or_no(built, "cuda"), yes_or_no(built, "nccl"), yes_or_no(built, "debug"),
            json_integer_value(json_object_get(built, "openmp")), text_of(built, "compiler"));
    const bool started = json_is_string(json_object_get(mpi, "thread_level"));
    fprintf(to, "mpi      %s; MPI %s, %s%s\n", text_of(mpi, "version"), text_of(mpi, "standard"),
            started ? "threads: " : "not started: no launcher and no GPU here",
            started ? text_of(mpi, "thread_level") : "");
    fprintf(to, "mpi+cuda claims to take device buffers: %s; test: %s%s%s\n", yes_or_no(mpi, "claims_cuda"),
            json_is_null(takes)   ? "not run"
            : json_is_true(takes) ? "passed"
                                  : "failed",
            json_is_true(takes) ? "" : ", ", json_is_true(takes) ? "" : text_of(mpi, "why_not"));
    fprintf(to, "hdf5     %s, parallel: %s\n", text_of(hdf5, "version"), yes_or_no(hdf5, "parallel"));
    if (json_integer_value(gpus) > 0)
        fprintf(to, "gpus     %" JSON_INTEGER_FORMAT " visible to rank 0, driver %s\n",
                json_integer_value(gpus), text_of(o, "driver"));
    else fprintf(to, "gpus     none: %s\n", text_of(o, "no_gpu"));
    print_hosts(to, json_object_get(o, "ranks"), where);
    if (json_is_string(json_object_get(o, "note"))) fprintf(to, "note     %s\n", text_of(o, "note"));
}

static void print_object(const json_t *o, const hosts *where, bool as_json)
{
    terminal_text text;
    if (as_json) {
        (void)json_dumpf(o, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
        putchar('\n');
        return;
    }
    print_table(terminal_text_begin(&text), o, where);
    terminal_text_end(&text, 9);
}

/* ---- the command ---- */

static void inform(const topology *t, device *d, bool as_json, const char *notes)
{
    sentence why = { "" };
    const char *no_gpu = NULL;
    const bool takes = topology_probe_aware(t, d, TOPOLOGY_SELF_EXE, &why);
    json_t *mpi = mpi_json(t, d, takes, why.text);
    json_t *ranks = machine_gather(t, rank_json(t, d));
    if (t->rank == 0) {
        const int gpus = device_cuda_count(&no_gpu);
        json_t *o = json_pack("{s:s, s:s, s:s, s:o, s:O, s:o, s:o, s:i, s:o, s:i, s:o, s:o}", "program",
                              "weft", "version", version_number, "git", version_git, "built", built_json(),
                              "mpi", mpi, "hdf5", hdf5_json(), "driver", record_text_or_null(d->driver),
                              "gpus_visible", gpus, "no_gpu", record_text_or_null(no_gpu), "hosts", t->hosts,
                              "ranks", ranks, "note", record_text_or_null(notes));
        print_object(o, t->where, as_json);
        json_decref(o);
    }
    json_decref(mpi);
}

int cmd_info(int argc, char **argv)
{
    const char *no_gpu = NULL;
    /* only MPI knows whether it takes a GPU's memory */
    (void)cmd_begin(device_cuda_count(&no_gpu) > 0 ? CMD_MPI : CMD_ALONE, NULL, argc, argv);
    sentence why, notes;
    for (int i = 1; i < argc; i++)
        if (argv[i][0] != '-')
            return cmd_end(cmd_say(CHECK_EXIT_USAGE, "info takes no '%s'; allowed: --json", argv[i]));
    topology t;
    topology_create(&t);
    device *d = topology_device(&t, TOPOLOGY_AUTO, topology_threads(&t, 0), &why, &notes);
    if (!d) { /* GPUs that cannot be used: a run would refuse, here that is the news */
        d = topology_device(&t, TOPOLOGY_HOST, topology_threads(&t, 0), &notes, &notes);
        notes = why;
    }
    inform(&t, d, cmd_has_option(argc, argv, "--json"), notes.text);
    device_destroy(&d);
    topology_destroy(&t);
    return cmd_end(0);
}
