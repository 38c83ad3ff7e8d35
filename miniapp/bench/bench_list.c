#include "bench/bench_list.h"

#include <string.h>

#include "base/terminal.h"
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

/* ---- --list ---- */

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

static bool named(const ladder_family *f, const ladder_rung *r, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (bench_request_names(argv[i], f, r)) return true;
    return false;
}

static void print_lesson(FILE *to, const ladder_rung *r)
{
    char text[2048];
    snprintf(text, sizeof text, "  %-20s %s%s%s", r->name, r->why, r->teaches ? ". " : "",
             r->teaches ? r->teaches : "");
    terminal_wrap(to, text, 23);
}

/* Where the text of "  name     text" begins; 0 for a plain paragraph. */
static int indent_of(const char *line)
{
    enum { NAME_COLUMNS_MAX = 24 };
    const char *at = line + strspn(line, " ");
    if (at == line) return 0;
    while (*at && strncmp(at, "  ", 2) != 0) at++;
    const size_t indent = (size_t)(at - line) + strspn(at, " ");
    return indent <= NAME_COLUMNS_MAX ? (int)indent : 4;
}

static void print_paragraphs(FILE *to, const char *text)
{
    char line[2048];
    for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
        snprintf(line, sizeof line, "%.*s\n", (int)strcspn(text, "\n"), text);
        terminal_wrap(to, line, indent_of(line));
    }
}

bool bench_list_print_help(void *file, int argc, char **argv)
{
    const ladder_family *last = NULL;
    for (const ladder_family *const *family = bench_families(); *family; family++)
        for (int j = 0; j < (*family)->rungs; j++) {
            const ladder_family *f = *family;
            if ((f->kind == DEVICE_CUDA && !device_cuda_built()) || !named(f, &f->rung[j], argc, argv))
                continue;
            if (f != last) {
                fprintf(file, "%sdevice %s\n", last ? "\n" : "", f->kind == DEVICE_HOST ? "host" : "cuda");
                print_family(file, f);
                fputc('\n', file);
                print_paragraphs(file, f->teaches);
                fputc('\n', file);
            }
            last = f;
            print_lesson(file, &f->rung[j]);
        }
    return last != NULL;
}
