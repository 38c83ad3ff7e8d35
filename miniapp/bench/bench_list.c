#include "bench/bench_report.h"

#include <string.h>

#include "bench/bench_families.h"

static const char *count_text(char *out, size_t bytes, int64_t n)
{
    if (n >= 1 << 20 && n % (1 << 30) == 0) snprintf(out, bytes, "%lldG", (long long)(n >> 30));
    else if (n >= 1 << 20 && n % (1 << 20) == 0) snprintf(out, bytes, "%lldM", (long long)(n >> 20));
    else snprintf(out, bytes, "%lld", (long long)n);
    return out;
}

static void print_family(FILE *to, const ladder_family *f)
{
    char usual[32];
    fprintf(to, "\n%s: %s\n", f->name, f->shows);
    for (int p = 0; p < f->parameters; p++)
        fprintf(to, "  %s=%s  %s\n", f->parameter[p].key,
                count_text(usual, sizeof usual, f->parameter[p].usual), f->parameter[p].help);
}

/* d: NULL where there is no such device. */
static void print_rung(FILE *to, const bench_item *item, device *d, int ranks)
{
    const ladder_family *f = item->family;
    const char *missing = f->refusal ? f->refusal(item->rung, f->kind, ranks) : NULL;
    if (!missing && d && item->rung->missing) missing = item->rung->missing(d);
    fprintf(to, "  %s/%-20s %s", f->name, item->rung->name, item->rung->why);
    if (missing) fprintf(to, " (not here: %s)", missing);
    fputc('\n', to);
}

static void print_kind(FILE *to, const bench_request *ask, device_kind kind, int ranks)
{
    const char *no_gpu = NULL;
    const ladder_family *last = NULL;
    device *d = NULL;
    int code = 0;
    if (kind == DEVICE_HOST) d = device_host_create(ask->threads);
    else if (device_cuda_count(&no_gpu) > 0) d = device_cuda_create(0, &code);
    if (code) no_gpu = device_cuda_error_text(code);
    fprintf(to, "rungs of the %s device", kind == DEVICE_HOST ? "host" : "cuda");
    fprintf(to, no_gpu ? " (not here: %s)\n" : "\n", no_gpu);
    for (int i = 0; i < ask->items; i++) {
        if (ask->item[i].family->kind != kind) continue;
        if (ask->item[i].family != last) print_family(to, ask->item[i].family);
        last = ask->item[i].family;
        print_rung(to, &ask->item[i], d, ranks);
    }
    if (d) device_destroy(&d);
}

void bench_list_print(FILE *to, const bench_request *ask, int ranks)
{
    bool has[2] = { false, false };
    for (int i = 0; i < ask->items; i++) has[ask->item[i].family->kind == DEVICE_CUDA] = true;
    if (has[0]) print_kind(to, ask, DEVICE_HOST, ranks);
    if (has[0] && has[1]) fputc('\n', to);
    if (has[1]) print_kind(to, ask, DEVICE_CUDA, ranks);
}

/* ---- --help ---- */

static bool is_typed(const ladder_family *f, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strlen(f->name) == strcspn(argv[i], "/") && strncmp(f->name, argv[i], strlen(f->name)) == 0)
            return true;
    return false;
}

/* The last family of a name speaks: a GPU's comes after the host's. */
bool bench_list_print_help(FILE *to, int argc, char **argv)
{
    bool any = false;
    for (const ladder_family *const *f = bench_families(); *f; f++) {
        bool last = is_typed(*f, argc, argv);
        for (const ladder_family *const *g = f + 1; *g && last; g++)
            last = strcmp((*g)->name, (*f)->name) != 0;
        if (last)
            fprintf(to, "%s: %s\nlesson: docs/teaching/%s.md; rungs and parameters: weft bench --list %s\n",
                    (*f)->name, (*f)->shows, (*f)->name, (*f)->name);
        any = any || last;
    }
    return any;
}
