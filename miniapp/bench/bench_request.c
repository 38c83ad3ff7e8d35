/* The device comes first: it decides which families there are. Then the names choose rungs, and a key must be
 * one of this file's or a parameter of a family that was chosen. */
#include "bench/bench_request.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cmd_key.h"
#include "ranks/check.h"

/* The families of all devices of this build, in the order in which they are climbed. */
enum { FAMILIES_MOST = 32 }; /* and NULL behind the last one */
static const ladder_family *const families[FAMILIES_MOST] = {
    &ladder_ceiling_host,   &ladder_access_host,    &ladder_transpose_host, &ladder_stencil_host,
    &ladder_fused_host,     &ladder_reduce_host,    &ladder_roofline_host,  &ladder_streaming_host,
    &bench_halo_host,       &bench_alltoall_host,   &bench_io_host,
#if WEFT_CUDA
    &ladder_ceiling_cuda,   &ladder_memory_cuda,    &ladder_access_cuda,    &ladder_shared_cuda,
    &ladder_transpose_cuda, &ladder_stencil_cuda,   &ladder_fused_cuda,     &ladder_reduce_cuda,
    &ladder_launch_cuda,    &ladder_constant_cuda,  &ladder_arith_cuda,     &ladder_streams_cuda,
    &ladder_roofline_cuda,  &ladder_streaming_cuda, &bench_halo_cuda,       &bench_alltoall_cuda,
    &bench_io_cuda,
#endif
};

const cmd_option bench_request_options[] = {
    { "--list", NULL,
      "list the rungs and parameters of every device of this build, or of device=; run nothing" },
    { NULL, NULL, NULL },
};

static const char *const types[] = { "f32", "f64", NULL };

#define KEY(NAME, KIND, MEMBER, HELP) \
    .key = NAME, .kind = KIND, .at = offsetof(bench_request, MEMBER), .help = HELP
static const cmd_key own_keys[] = {
    { KEY("device", CMD_KEY_WORD, device,
          "auto: a GPU, else the host, but exit 3 where the job or the machine has GPUs that cannot be used"),
      .word = topology_choice_words, .preset = "auto" },
    { KEY("dtype", CMD_KEY_WORD, type, NULL), .word = types, .preset = "f32" },
    { KEY("samples", CMD_KEY_INT, samples,
          "1 .. 10000 per rung (0: as many as fit into a fraction of a second), or none: verify only, "
          "without timing"),
      .most = 10000 },
    { KEY("dir", CMD_KEY_FOLDER, dir, "folder in which family io creates and deletes its files (.)") },
    { KEY("threads", CMD_KEY_INT, threads,
          "threads per rank of the host device (0: OMP_NUM_THREADS, else its share of the CPUs)"),
      .most = 4096 },
    { KEY("output", CMD_KEY_OUTPUT, output, "file to which records are appended (results.jsonl), or none") },
};
enum { OWN_KEYS = sizeof own_keys / sizeof own_keys[0] };

void bench_request_print_keys(void *file) { cmd_key_print(file, own_keys, OWN_KEYS, 14); }

/* ---- names ---- */

/* A list has the rungs of all devices, or of one. */
static bool offered(const bench_request *q, const ladder_family *f)
{
    return f->kind == q->kind || (q->list && q->device == TOPOLOGY_AUTO);
}

/* Is the rung meant by "family/rung", or by "family" alone? */
static bool means(const char *name, const ladder_family *f, const ladder_rung *r)
{
    const size_t length = strlen(f->name);
    if (strncmp(name, f->name, length) != 0) return false;
    return name[length] == '\0' || (name[length] == '/' && strcmp(name + length + 1, r->name) == 0);
}

bool bench_request_find(device_kind kind, const char *name, bench_item *item)
{
    for (const ladder_family *const *f = families; *f; f++)
        for (const ladder_rung *r = (*f)->rung; r < (*f)->rung + (*f)->rungs; r++)
            if ((*f)->kind == kind && means(name, *f, r)) {
                *item = (bench_item){ *f, r, true };
                return true;
            }
    return false;
}

static bool is_name(const char *argument) { return argument[0] != '-' && !strchr(argument, '='); }

/* The rungs that names mean, or, without names, all but those that need more ranks. */
static bool choose_items(bench_request *q, int ranks, int argc, char **argv, sentence *why)
{
    bool *known = CHECK_CALLOC(argc, sizeof *known), any_name = false, ok = true;
    for (int i = 1; i < argc; i++) any_name = any_name || is_name(argv[i]);
    for (const ladder_family *const *f = families; *f; f++)
        for (const ladder_rung *r = (*f)->rung; offered(q, *f) && r < (*f)->rung + (*f)->rungs; r++) {
            bool taken = !any_name && (ranks > 1 || q->list || !bench_together(*f)), named = false;
            for (int i = 1; i < argc; i++) {
                if (!is_name(argv[i]) || !means(argv[i], *f, r)) continue;
                taken = known[i] = true;
                named = named || strchr(argv[i], '/');
            }
            if (!taken) continue;
            q->item = CHECK_ALLOC(realloc(q->item, (size_t)(q->items + 1) * sizeof *q->item));
            q->item[q->items++] = (bench_item){ *f, r, named };
        }
    for (int i = 1; i < argc && ok; i++)
        if (is_name(argv[i]) && !known[i])
            ok = sentence_refuse(why,
                                 "the %s device has no rung %s; `weft bench --list` names them all; each of "
                                 "memory, shared, launch, constant, arith and streams needs a GPU",
                                 q->kind == DEVICE_HOST ? "host" : "cuda", argv[i]);
    free(known);
    return ok;
}

/* ---- keys ---- */

/* The same key may belong to several families (nx), each with its own limits; of ceiling, which is measured
 * in any case, as well. */
static bool set_parameter(bench_request *q, const char *assignment, sentence *why)
{
    const ladder_parameter *found = NULL;
    int64_t number = 0;
    for (const ladder_family *const *f = families; *f; f++) {
        bool chosen = offered(q, *f) && strcmp((*f)->name, "ceiling") == 0;
        for (int k = 0; k < q->items && !chosen; k++) chosen = q->item[k].family == *f;
        for (int i = 0; chosen && i < (*f)->parameters; i++) {
            const ladder_parameter *p = &(*f)->parameter[i];
            const cmd_key key = {
                .key = p->key, .kind = CMD_KEY_WHOLE, .least = (double)p->least, .most = (double)p->most
            };
            if (!cmd_key_find(&key, 1, assignment)) continue;
            if (!cmd_key_set(&key, 1, &number, assignment, why)) return false;
            found = p;
        }
    }
    if (!found)
        return sentence_refuse(
            why, "no rung of these takes the key of %s; `weft bench --list` names them all", assignment);
    q->setting[q->settings++] = (bench_setting){ found->key, number };
    return true;
}

/* Keys of this file before the device is chosen, those of families after the rungs. */
static bool set_keys(bench_request *q, bool own, int argc, char **argv, sentence *why)
{
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-' || is_name(argv[i]) ||
            (cmd_key_find(own_keys, OWN_KEYS, argv[i]) != NULL) != own)
            continue;
        if (strcmp(argv[i], "samples=none") == 0) q->samples = BENCH_SAMPLES_NONE;
        else if (own ? !cmd_key_set(own_keys, OWN_KEYS, q, argv[i], why) : !set_parameter(q, argv[i], why))
            return false;
    }
    return true;
}

int bench_request_make(bench_request *q, topology *top, int argc, char **argv, sentence *why)
{
    *q = (bench_request){ .dir = ".", .output = "results.jsonl" };
    q->setting = CHECK_CALLOC(argc, sizeof *q->setting);
    q->list = cmd_has_option(argc, argv, "--list");
    top->device_key = "device";
    if (!agree_or_say(set_keys(q, true, argc, argv, why), why, top->comm)) return CHECK_EXIT_USAGE;
    q->kind = q->device == TOPOLOGY_CUDA ? DEVICE_CUDA : DEVICE_HOST;
    if (!q->list) {
        q->d = topology_device(top, q->device, topology_threads(top, q->threads), why, &q->notes);
        if (!q->d) return CHECK_EXIT_ENVIRONMENT;
        q->kind = q->d->kind;
    }
    if (!choose_items(q, top->ranks, argc, argv, why) || !set_keys(q, false, argc, argv, why))
        return CHECK_EXIT_USAGE;
    return 0;
}

void bench_request_free(bench_request *q)
{
    device_destroy(&q->d);
    free(q->item);
    free(q->setting);
}

/* The value that was set for that parameter, the last one; NULL: none was. */
static const int64_t *set_value(const bench_request *q, const ladder_parameter *p)
{
    const int64_t *last = NULL;
    for (int i = 0; i < q->settings; i++)
        if (strcmp(q->setting[i].key, p->key) == 0) last = &q->setting[i].value;
    return last;
}

int bench_request_points(const bench_request *q, const bench_item *item)
{
    const ladder_rung *r = item->rung;
    return r->scan_count == 0 || set_value(q, &item->family->parameter[r->scan]) ? 1 : r->scan_count;
}

int64_t bench_request_value(const bench_request *q, const bench_item *item, int point, int parameter)
{
    const int64_t *set = set_value(q, &item->family->parameter[parameter]);
    return set                                   ? *set
           : ladder_scans(item->rung, parameter) ? item->rung->scan_values[point]
                                                 : item->family->parameter[parameter].usual;
}
