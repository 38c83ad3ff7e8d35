/* The device comes first: it decides which families there are. Then the names choose rungs, and a key must be
 * one of this file's or a parameter of a family that was chosen. */
#include "bench/bench_request.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cmd.h"
#include "base/cmd_key.h"
#include "base/terminal.h"
#include "deck/deck.h"
#include "ranks/check.h"
#include "ranks/ranks.h"

const cmd_option bench_request_options[CMD_OPTIONS_MAX] = {
    { "--list", NULL,
      "list the rungs and parameters of every device of this build, or of device=; run nothing" },
    { "--csv", NULL, "print all rows as CSV (RFC 4180) with a header line instead of tables" },
};

static const char *const devices[] = { "auto", "host", "cuda", NULL }; /* in the order of topology_choice */
static const char *const types[] = { "f32", "f64", NULL };

#define KEY(NAME, KIND, MEMBER, HELP) \
    .key = NAME, .kind = KIND, .at = offsetof(bench_request, MEMBER), .help = HELP
static const cmd_key own_keys[] = {
    { KEY("device", CMD_KEY_WORD, device,
          "auto | host | cuda; auto: a GPU, else the host, but exit 3 where the job or the machine has "
          "GPUs that cannot be used"),
      .word = devices },
    { KEY("dtype", CMD_KEY_WORD, type, "f32 | f64 (f32)"), .word = types },
    { KEY("samples", CMD_KEY_INT, samples,
          "1 .. 10000 per rung (0: as many as fit into a fraction of a second), or none: verify only, "
          "without timing"),
      .most = 10000 },
    { KEY("dir", CMD_KEY_FOLDER, dir, "folder in which family io creates and deletes its files (.)") },
    { KEY("threads", CMD_KEY_INT, threads, "threads of the host device (0: OpenMP's default)"),
      .most = 4096 },
    { KEY("output", CMD_KEY_OUTPUT, output, "file to which records are appended (results.jsonl), or none") },
};
enum { OWN_KEYS = sizeof own_keys / sizeof own_keys[0], NAMES_MAX = 1024, NAME_BYTES = 64 };

void bench_request_print_keys(void *file)
{
    cmd_key_print(file, own_keys, OWN_KEYS, 14);
    terminal_wrap(
        file,
        "  A whole number may end in k, M or G, units of 1024, or in an exponent: 4k is 4096, 1e3 is "
        "1000.",
        2);
}

/* device = auto: the GPU where every rank sees one, else what gpu_rule_of decides. A list has the rungs of
 * all devices of this build, or of one, which need not be there. */
static int choose_device(bench_request *q, const topology *top, sentence *why)
{
    const char *reason = NULL;
    q->any_kind = q->list && q->device == TOPOLOGY_AUTO && device_cuda_built();
    q->kind = q->device == TOPOLOGY_CUDA ? DEVICE_CUDA : DEVICE_HOST;
    if (q->device == TOPOLOGY_HOST || (q->list && (q->device == TOPOLOGY_AUTO || device_cuda_built())))
        return 0;
    const int visible = device_cuda_count(&reason);
    if (q->device == TOPOLOGY_CUDA) {
        if (visible > 0) return 0;
        sentence_set(why, "device = cuda, but no GPU can be used: %s", reason ? reason : "none is visible");
        return CHECK_EXIT_ENVIRONMENT;
    }
    if (agree_all(visible > 0, top->comm)) q->kind = DEVICE_CUDA;
    else if (!topology_may_use_host(top, visible, reason, "device", &q->note)) {
        *why = q->note;
        return CHECK_EXIT_ENVIRONMENT;
    }
    return 0;
}

/* ---- names ---- */

static bool offered(const bench_request *q, const ladder_family *f)
{
    return q->any_kind || f->kind == q->kind;
}

/* Is the rung meant by "family/rung", or by "family" alone? */
static bool names(const char *name, const bench_item *item)
{
    const size_t length = strlen(item->family->name);
    if (strncmp(name, item->family->name, length) != 0) return false;
    return name[length] == '\0' || (name[length] == '/' && strcmp(name + length + 1, item->rung->name) == 0);
}

bool bench_request_find(device_kind kind, const char *name, bench_item *item)
{
    int count = 0;
    const bench_item *const all = bench_items(&count);
    for (int i = 0; i < count; i++)
        if (all[i].family->kind == kind && names(name, &all[i])) {
            *item = all[i];
            return true;
        }
    return false;
}

/* A bare family is near a bare family, a rung near a rung. */
static bool unknown_name(const bench_request *q, const char *name, sentence *why)
{
    static char text[NAMES_MAX][NAME_BYTES];
    const char *known[NAMES_MAX];
    int count = 0, rungs = 0;
    const bench_item *const all = bench_items(&rungs);
    const bool rung = strchr(name, '/') != NULL;
    for (int i = 0; i < rungs && count < NAMES_MAX; i++) {
        if (!offered(q, all[i].family)) {
            if (!names(name, &all[i])) continue;
            return sentence_refuse(
                why, "%s is not a rung of the %s device; `weft bench --list` names those that are", name,
                q->kind == DEVICE_HOST ? "host" : "cuda");
        }
        snprintf(text[count], NAME_BYTES, "%s%s%s", all[i].family->name, rung ? "/" : "",
                 rung ? all[i].rung->name : "");
        known[count] = text[count];
        count++;
    }
    return sentence_refuse(why, "unknown %s %s; the nearest is %s, and `weft bench --list` names them all",
                           rung ? "rung" : "family", name, deck_nearest(name, known, (size_t)count));
}

static bool is_name(const char *argument) { return argument[0] != '-' && !strchr(argument, '='); }

/* Without names all rungs but, on one rank, those that ranks climb together. */
static bool wanted(const bench_request *q, bench_item *item, int ranks, int argc, char **argv)
{
    bool any_name = false, taken = false;
    for (int i = 1; i < argc; i++) {
        if (!is_name(argv[i])) continue;
        any_name = true;
        if (!names(argv[i], item)) continue;
        taken = true;
        item->named = item->named || strchr(argv[i], '/');
    }
    return taken || (!any_name && (ranks > 1 || q->list || !bench_families_together(item->family)));
}

static bool choose_items(bench_request *q, int ranks, int argc, char **argv, sentence *why)
{
    int rungs = 0;
    const bench_item *const all = bench_items(&rungs);
    for (int a = 1; a < argc; a++) {
        bool found = !is_name(argv[a]);
        for (int i = 0; i < rungs && !found; i++)
            found = offered(q, all[i].family) && names(argv[a], &all[i]);
        if (!found) return unknown_name(q, argv[a], why);
    }
    q->item = CHECK_ALLOC(calloc((size_t)rungs, sizeof *q->item));
    for (int i = 0; i < rungs; i++) {
        bench_item item = all[i];
        if (offered(q, item.family) && wanted(q, &item, ranks, argc, argv)) q->item[q->items++] = item;
    }
    return true;
}

/* ---- keys ---- */

static bool unknown_key(const bench_request *q, const char *key, sentence *why)
{
    const char *known[NAMES_MAX];
    int count = 0;
    for (int i = 0; i < OWN_KEYS; i++) known[count++] = own_keys[i].key;
    for (int i = 0; i < q->items; i++) {
        if (i > 0 && q->item[i].family == q->item[i - 1].family) continue;
        for (int p = 0; p < q->item[i].family->parameters && count < NAMES_MAX; p++)
            known[count++] = q->item[i].family->parameter[p].key;
    }
    return sentence_refuse(
        why, "unknown key %s for these rungs; the nearest is %s, and `weft bench --list` names them all", key,
        deck_nearest(key, known, (size_t)count));
}

/* The same key may belong to several families (nx), each with its own limits. */
static bool set_parameter(bench_request *q, const char *assignment, sentence *why)
{
    const char *const text = strchr(assignment, '=') + 1;
    char key[NAME_BYTES];
    const ladder_parameter *last = NULL;
    int64_t number = 0;
    snprintf(key, sizeof key, "%.*s", (int)(text - 1 - assignment), assignment);
    for (const ladder_family *const *f = bench_families(); *f; f++) {
        bool chosen = offered(q, *f) && strcmp((*f)->name, "ceiling") == 0; /* measured in any case */
        for (int k = 0; k < q->items && !chosen; k++) chosen = q->item[k].family == *f;
        for (int p = 0; chosen && p < (*f)->parameters; p++) {
            const ladder_parameter *known = &(*f)->parameter[p];
            if (strcmp(known->key, key) != 0) continue;
            if (!deck_whole(text, &number) || number < known->least || number > known->most)
                return sentence_refuse(
                    why,
                    "%s = %s; allowed for %s: a whole number from %lld to %lld, as in 64, 4k (4096) or 1e3",
                    key, text, (*f)->name, (long long)known->least, (long long)known->most);
            last = known;
        }
    }
    if (!last) return unknown_key(q, key, why);
    q->setting[q->settings++] = (bench_setting){ last->key, number };
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

int bench_request_make(bench_request *q, const topology *top, int argc, char **argv, sentence *why)
{
    *q = (bench_request){ .dir = ".", .output = "results.jsonl" };
    q->setting = CHECK_ALLOC(calloc((size_t)argc, sizeof *q->setting));
    q->list = cmd_has_option(argc, argv, "--list");
    q->csv = cmd_has_option(argc, argv, "--csv");
    if (!set_keys(q, true, argc, argv, why)) return CHECK_EXIT_USAGE;
    const int status = choose_device(q, top, why);
    if (status != 0) return status;
    if (!choose_items(q, top->ranks, argc, argv, why) || !set_keys(q, false, argc, argv, why))
        return CHECK_EXIT_USAGE;
    return 0;
}

void bench_request_free(bench_request *q)
{
    free(q->item);
    free(q->setting);
    q->item = NULL;
    q->setting = NULL;
}

int64_t bench_request_asked(const bench_request *q, const ladder_parameter *p, bool *was_set)
{
    int64_t number = p->usual;
    if (was_set) *was_set = false;
    for (int i = 0; i < q->settings; i++)
        if (strcmp(q->setting[i].key, p->key) == 0) {
            number = q->setting[i].value;
            if (was_set) *was_set = true;
        }
    return number;
}

int bench_request_points(const bench_request *q, const bench_item *item)
{
    bool was_set = false;
    if (item->rung->scan_count == 0) return 1;
    (void)bench_request_asked(q, &item->family->parameter[item->rung->scan], &was_set);
    return was_set ? 1 : item->rung->scan_count;
}

int64_t bench_request_value(const bench_request *q, const bench_item *item, int point, int parameter)
{
    bool was_set = false;
    const int64_t asked = bench_request_asked(q, &item->family->parameter[parameter], &was_set);
    return ladder_scans(item->rung, parameter) && !was_set ? item->rung->scan_values[point] : asked;
}
