/* weft info: what this build, this MPI and the devices of these ranks offer. Everything is put into one JSON
 * object first; the table for people is read from that, so that the two never differ. */
#include <stdio.h>
#include <string.h>

#include "base/cmd.h"
#include "base/machine.h"
#include "base/terminal.h"
#include "output/record.h"
#include "ranks/check.h"
#include "ranks/printable.h"
#include "ranks/ranks.h"
#include "topology/topology.h"
#include "transports/transport.h"

const cmd_option cmd_info_options[] = {
    { "--json", NULL, "print one JSON object, for programs" },
    { NULL, NULL, NULL },
};

int cmd_version(void *to)
{
    char mpi[256];
    const int cuda = device_cuda_built();
    topology_mpi_version(mpi, sizeof mpi);
    fprintf(to, "weft %s (%s)\n", version_number, version_git);
    fprintf(to, "MPI      %s\nHDF5     %s\n", mpi, machine_hdf5_version());
    if (cuda)
        fprintf(to, "CUDA     %d.%d, NCCL: %s\n", cuda / 1000, cuda % 1000 / 10,
                transport_nccl_built ? "yes" : "no");
    else fprintf(to, "CUDA     none\n");
    /* gcc's is a number, clang's has its name */
    fprintf(to, "compiler %s%s\n", strchr(__VERSION__, ' ') ? "" : "gcc ", __VERSION__);
    return 0;
}

/* ---- the object ---- */

static json_t *rank_json(const topology *t, device *d)
{
    const placement *at = &t->at;
    size_t free_bytes = 0, total_bytes = 0;
    host_limit by;
    DEVICE_CALL(d, memory_info, &free_bytes, &total_bytes);
    const double mine_bytes = topology_free_bytes(t, d, &by);
    if (by == HOST_LIMIT_PROCESS) free_bytes = (size_t)mine_bytes;
    return json_pack("{s:i, s:o, s:s, s:o, s:o, s:o, s:o, s:I, s:I, s:s, s:i, s:s, s:o, s:o, s:o, s:o}",
                     "rank", t->rank, "host", record_text(t->host), "device",
                     d->kind == DEVICE_CUDA ? "cuda" : "host", "name", record_text(d->name), "gpu",
                     t->pci[0] ? json_integer(d->ordinal) : json_null(), "uuid", record_text_or_null(d->uuid),
                     "pci", record_text_or_null(t->pci), "memory_bytes", (json_int_t)total_bytes,
                     "free_bytes", (json_int_t)free_bytes, "memory_limit", host_limit_name[by], "threads",
                     d->threads, "cpus", t->binding, "numa_nodes", record_text_or_null(at->nodes),
                     "gpu_numa_node", at->near_node >= 0 ? json_integer(at->near_node) : json_null(),
                     "gpu_cpus", record_text_or_null(at->near_cpus), "wrong",
                     record_text_or_null(t->wrong.text));
}

/* Build and libraries, by rank 0. takes: device buffers arrived, where that was tried. */
static json_t *build_json(const topology *t, const device *d, bool takes, const char *why_not)
{
    const bool tried = d->kind == DEVICE_CUDA && t->mpi_claims_cuda;
    return json_pack("{s:s, s:s, s:s, s:{s:b, s:b, s:s}, s:{s:o, s:b, s:o, s:o}, s:{s:s}, s:o, s:i}",
                     "program", "weft", "version", version_number, "git", version_git, "built", "cuda",
                     device_cuda_built(), "nccl", transport_nccl_built, "compiler", __VERSION__, "mpi",
                     "version", record_text(t->mpi_version), "claims_cuda", t->mpi_claims_cuda,
                     "takes_device_buffers", tried ? json_boolean(takes) : json_null(), "why_not",
                     takes ? json_null() : record_text_or_null(why_not), "hdf5", "version",
                     machine_hdf5_version(), "driver", record_text_or_null(d->driver), "hosts", t->hosts);
}

/* ---- the table ---- */

static const char *text_of(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    return json_is_string(v) ? printable_text(json_string_value(v)) : "unknown";
}

/* The columns of a rank's row, each a member of its object; a number in units of `unit`. */
static const struct {
    const char *heading, *key;
    int width;
    double unit;
} column[] = {
    { "rank", "rank", 4, 1 },          { "host", "host", 10, 0 },
    { "GPU", "gpu", 3, 1 },            { "PCI address", "pci", 12, 0 },
    { "node", "gpu_numa_node", 4, 1 }, { "near cores", "gpu_cpus", 10, 0 },
    { "may use", "cpus", 10, 0 },      { "node", "numa_nodes", 4, 0 },
    { "free", "free_bytes", 5, 1e9 },  { "of GB", "memory_bytes", 5, 1e9 },
};
enum { COLUMNS = sizeof column / sizeof *column };

static void print_ranks(FILE *to, const json_t *ranks)
{
    size_t n;
    const json_t *r;
    for (int i = 0; i < COLUMNS; i++) fprintf(to, "%-*s ", column[i].width, column[i].heading);
    fprintf(to, "device\n");
    json_array_foreach(ranks, n, r) {
        for (int i = 0; i < COLUMNS; i++) {
            const json_t *const v = json_object_get(r, column[i].key);
            if (json_is_number(v))
                fprintf(to, "%-*.4g ", column[i].width, json_number_value(v) / column[i].unit);
            else fprintf(to, "%-*s ", column[i].width, json_is_null(v) ? "-" : text_of(r, column[i].key));
        }
        const char *const limit = text_of(r, "memory_limit"), *const wrong = text_of(r, "wrong");
        const bool machine = strcmp(limit, host_limit_name[HOST_LIMIT_MACHINE]) == 0;
        fprintf(to, "%s%s%s\n", text_of(r, "name"), machine ? "" : "; memory by ", machine ? "" : limit);
        if (json_is_string(json_object_get(r, "wrong"))) fprintf(to, "     WRONG: %s\n", wrong);
    }
}

static void print_table(FILE *to, const json_t *o)
{
    const json_t *mpi = json_object_get(o, "mpi"), *takes = json_object_get(mpi, "takes_device_buffers");
    const bool passed = json_is_true(takes);
    const int gpus = (int)json_integer_value(json_object_get(o, "gpus_visible"));
    (void)cmd_version(to);
    fprintf(to, "mpi+cuda claims to take device buffers: %s; test: %s%s\n",
            json_is_true(json_object_get(mpi, "claims_cuda")) ? "yes" : "no",
            passed                ? "passed"
            : json_is_null(takes) ? "not run, "
                                  : "failed, ",
            passed ? "" : text_of(mpi, "why_not"));
    if (gpus > 0) fprintf(to, "gpus     %d visible to rank 0, driver %s\n", gpus, text_of(o, "driver"));
    else fprintf(to, "gpus     none: %s\n", text_of(o, "no_gpu"));
    print_ranks(to, json_object_get(o, "ranks"));
    if (json_is_string(json_object_get(o, "note"))) fprintf(to, "note     %s\n", text_of(o, "note"));
}

/* ---- the command ---- */

static void inform(const topology *t, device *d, bool as_json, const char *notes)
{
    sentence why = { "" };
    const char *no_gpu = NULL;
    terminal_text text;
    const bool takes = topology_probe_aware(t, d, TOPOLOGY_SELF_EXE, &why);
    json_t *ranks = machine_gather(t, rank_json(t, d));
    if (t->rank != 0) return;
    json_t *o = build_json(t, d, takes, why.text);
    json_object_set_new(o, "gpus_visible", json_integer(device_cuda_count(&no_gpu)));
    json_object_set_new(o, "no_gpu", record_text_or_null(no_gpu));
    json_object_set_new(o, "ranks", ranks);
    json_object_set_new(o, "note", record_text_or_null(notes));
    if (as_json) {
        (void)json_dumpf(o, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
        putchar('\n');
    } else {
        print_table(terminal_text_begin(&text), o);
        terminal_text_end(&text, 9);
    }
    json_decref(o);
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
