/* Measures the host's kernels that pass over whole fields, each beside a copy of as many cells of the same
 * fields. Other work on the machine moves the memory's speed from second to second, so copy and kernel take
 * turns, and what is printed is the median of the ratios of neighbours in time. Bytes are the algorithm's:
 * each cell of each field that a kernel reads or writes, once. Of a pass's variants the one is measured that
 * was fastest before, as at the start of a run.
 *
 *   measure_host_kernels stars|boxes|lines|prevs|blocks|transposes|all [NX [NY]]   fields are NX x NY (8192 x
 * 8192)
 *
 * blocks: passes of several steps, of which a step's bytes are counted each time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device_host.h"
#include "fastest_variant.h"

enum { WARM_UP = 1, SAMPLES = 9 };

static device *dev;

static void check(int code, const char *what)
{
    if (code == 0) return;
    fprintf(stderr, "%s: %s\n", what, dev->error_text(code));
    exit(1);
}
#define CHECK(call) check((call), #call)

typedef enum kind { COPY, PASS, PASS_IN_PLACE, BLOCK, TRANSPOSE } kind;

typedef struct work {
    kind kind;
    field_shape shape;
    void *next, *cur, *prev;
    int words; /* moved per cell */
    int steps; /* of a block */
    int flags; /* of a transpose */
    int64_t to_pitch, from_pitch; /* of a transpose, cells */
} work;

static const boundary periodic; /* ghosts hold data, whatever they are */

static double seconds(const void *context)
{
    const work *w = context;
    const field_shape *f = &w->shape;
    const box own = field_own(f);
    const double begun_s = omp_get_wtime();
    switch (w->kind) {
    case COPY:
        CHECK(dev->copy(dev, w->next, w->cur, (size_t)box_cells(own) * dtype_bytes(f->type), NULL));
        break;
    case PASS: CHECK(dev->stencil_pass(dev, f, w->next, w->cur, w->prev, &own, 1, NULL)); break;
    case PASS_IN_PLACE: CHECK(dev->stencil_pass(dev, f, w->next, w->cur, w->next, &own, 1, NULL)); break;
    case BLOCK:
        CHECK(dev->temporal_pass(dev, f, w->next, NULL, w->cur, NULL, own, w->steps, &periodic, NULL, NULL));
        break;
    case TRANSPOSE:
        CHECK(dev->transpose(dev, f->type, w->next, w->to_pitch, w->cur, w->from_pitch, f->ny, f->nx,
                             w->flags, NULL));
        break;
    }
    return omp_get_wtime() - begun_s;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *sample)
{
    qsort(sample, SAMPLES, sizeof *sample, ascending);
    return sample[SAMPLES / 2];
}

/* Allocates and fills the fields, measures, prints one line. */
static void measure(const char *name, work w)
{
    const field_shape *f = &w.shape;
    const value random = { .kind = VALUE_RANDOM, .nx_global = f->nx, .ny_global = f->ny, .seed = 1 };
    const box all = box_make(-f->depth_x, f->nx + f->depth_x, -f->depth_y, f->ny + f->depth_y);
    void **fields[] = { &w.next, &w.cur, &w.prev };
    const int count = w.kind == PASS && w.words == 3 ? 3 : 2;
    double copy_s[SAMPLES], work_s[SAMPLES], fraction[SAMPLES];
    for (int i = 0; i < count; i++) {
        CHECK(dev->alloc(dev, DEVICE_MEMORY_DEVICE, f->bytes, fields[i]));
        CHECK(dev->value_fill(dev, f, *fields[i], &random, all, NULL));
    }
    work copy = w;
    copy.kind = COPY;
    device_variants *const variants = w.kind == BLOCK ? &dev->temporal_variants : &dev->stencil_variants;
    const char *variant = w.kind == TRANSPOSE ? "" : fastest_variant(variants, seconds, &w);
    for (int i = -WARM_UP; i < SAMPLES; i++) {
        const double c = seconds(&copy), s = seconds(&w);
        if (i < 0) continue;
        copy_s[i] = c;
        work_s[i] = s;
        fraction[i] = c / 2 / (s / w.words);
    }
    const double word_bytes = (double)box_cells(field_own(f)) * (double)dtype_bytes(f->type);
    printf("%-28s %s %9lld x %-9lld %6.1f GB/s  %.2f of copy (%.1f GB/s)  %s\n", name, dtype_name(f->type),
           (long long)f->nx, (long long)f->ny, w.words * word_bytes / median(work_s) * 1e-9, median(fraction),
           2 * word_bytes / median(copy_s) * 1e-9, variant);
    fflush(stdout);
    for (int i = 0; i < count; i++) CHECK(dev->free(dev, DEVICE_MEMORY_DEVICE, *fields[i]));
}

static void measure_pass(stencil_form form, int radius, dtype t, kind k, int words, int64_t nx, int64_t ny)
{
    char name[64];
    stencil op = { form, radius, t, words == 3, -1.0, { 0 } };
    /* exact in both types */
    for (int i = 0; i < stencil_weights(form, radius); i++) op.weight[i] = 1.0 / 512;
    CHECK(dev->stencil_bind(dev, &op));
    snprintf(name, sizeof name, "%s r=%d%s", stencil_form_name(form), radius,
             k == PASS_IN_PLACE ? ", next is prev" : words == 3 ? ", prev apart" : "");
    measure(name, (work){ .kind = k,
                          .shape = field_shape_make(t, nx, ny, radius, ny > 1 ? radius : 0),
                          .words = words });
}

static void measure_block(int radius, dtype t, int steps, int64_t nx, int64_t ny)
{
    char name[64];
    stencil op = { STENCIL_STAR, radius, t, false, 0, { 0 } };
    for (int i = 0; i < stencil_weights(op.form, radius); i++) op.weight[i] = 1.0 / 512;
    CHECK(dev->stencil_bind(dev, &op));
    snprintf(name, sizeof name, "star r=%d, %d steps", radius, steps);
    const field_shape f = field_shape_make(t, nx, ny, steps * radius, steps * radius);
    measure(name, (work){ .kind = BLOCK, .shape = f, .words = 2 * steps, .steps = steps });
}

/* pad: cells from the end of a row to the next, 0 for a dense matrix. An addition reads its target too. */
static void measure_transpose(dtype t, int64_t rows, int64_t cols, int64_t pad, int flags)
{
    char name[64];
    field_shape f = field_shape_make(t, cols, rows, 0, 0);
    const size_t bytes = (size_t)((cols + pad) * (rows + pad)) * dtype_bytes(t);
    if (f.bytes < bytes) f.bytes = bytes;
    snprintf(name, sizeof name, "transpose%s%s%s", pad ? ", padded" : "",
             flags & TRANSPOSE_ADD ? ", add" : "", flags & TRANSPOSE_INCREMENT_SOURCE ? ", increment" : "");
    const int words = 2 + (flags & TRANSPOSE_ADD ? 1 : 0) + (flags & TRANSPOSE_INCREMENT_SOURCE ? 1 : 0);
    measure(name, (work){ .kind = TRANSPOSE,
                          .shape = f,
                          .words = words,
                          .flags = flags,
                          .to_pitch = rows + pad,
                          .from_pitch = cols + pad });
}

static void measure_transposes(dtype t, int64_t nx, int64_t ny)
{
    const int64_t pad = FIELD_ALIGN_BYTES / (int64_t)dtype_bytes(t);
    measure_transpose(t, ny, nx, 0, TRANSPOSE_STORE);
    measure_transpose(t, ny, nx, pad, TRANSPOSE_STORE);
    measure_transpose(t, 10007, 9973, 0, TRANSPOSE_STORE);
    measure_transpose(t, 1000, 100000, 0, TRANSPOSE_STORE);
    measure_transpose(t, ny, nx, pad, TRANSPOSE_ADD);
    measure_transpose(t, ny, nx, pad, TRANSPOSE_ADD | TRANSPOSE_INCREMENT_SOURCE);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "all";
    const int64_t nx = argc > 2 ? strtoll(argv[2], NULL, 10) : 8192,
                  ny = argc > 3 ? strtoll(argv[3], NULL, 10) : nx;
    const bool all = strcmp(what, "all") == 0;
    dev = device_host_create(0);
    printf("%s, %d threads\n", dev->name, dev->threads);
    for (int t = DTYPE_F32; t <= DTYPE_F64; t++) {
        if (all || strcmp(what, "stars") == 0)
            for (int r = 1; r <= STENCIL_RADIUS_MAX; r++)
                measure_pass(STENCIL_STAR, r, (dtype)t, PASS, 2, nx, ny);
        if (all || strcmp(what, "boxes") == 0)
            for (int r = 1; r <= 4; r++) measure_pass(STENCIL_BOX, r, (dtype)t, PASS, 2, nx, ny);
        if (all || strcmp(what, "lines") == 0)
            for (int r = 1; r <= STENCIL_RADIUS_MAX; r *= 2) {
                measure_pass(STENCIL_LINE, r, (dtype)t, PASS, 2, nx * ny, 1);
                measure_pass(STENCIL_LINE, r, (dtype)t, PASS, 2, nx, ny);
            }
        if (all || strcmp(what, "prevs") == 0)
            for (int r = 1; r <= 4; r += 3) {
                measure_pass(STENCIL_STAR, r, (dtype)t, PASS, 3, nx, ny);
                measure_pass(STENCIL_STAR, r, (dtype)t, PASS_IN_PLACE, 3, nx, ny);
            }
        if (all || strcmp(what, "blocks") == 0)
            for (int r = 1; r <= 4; r++)
                for (int steps = 2; steps <= 16; steps += steps < 4 ? 1 : steps < 8 ? 2 : 4)
                    measure_block(r, (dtype)t, steps, nx, ny);
        if (all || strcmp(what, "transposes") == 0) measure_transposes((dtype)t, nx, ny);
    }
    device_destroy(&dev);
    return 0;
}
