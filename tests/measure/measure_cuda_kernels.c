/* Measures the CUDA kernels that pass over whole fields, each beside a device-to-device copy of the same run:
 * medians of 20 launches by events, random data. Bytes are the algorithm's: each cell of each field that a
 * kernel reads or writes, once. Of a pass's variants the one is measured that was fastest before, as at the
 * start of a run.
 *
 *   measure_cuda_kernels [NX [NY]]     fields are NX x NY (16384 x 16384), the 1D line is as long as all of
 *                                      them
 *   measure_cuda_kernels boxes         only the box stencils of 16384 x 16384 and of 10007 x 9973 cells
 *   measure_cuda_kernels sustained     power and energy, by the GPU's counters, of a copy, of FMA alone and
 *                                      of every variant of
 *                                    stars and of boxes of radius 3 and 4, each after half a second of itself
 *                                    without a pause: by then the power limit may have lowered the clock
 *   measure_cuda_kernels transposes    dense matrices of several shapes, and padded ones, beside cuBLAS geam
 *                                      where it is found
 *   measure_cuda_kernels reductions    norm and fingerprint of 16384 x 16384 and of 10007 x 9973 cells
 *   measure_cuda_kernels packs         all four edges and corners of a field of 16384 x 16384, in one launch
 *
 * Beside boxes whose bound is arithmetic stands the FMA peak, by launches of both in turn, so that both have
 * the same clock.
 *
 * A message is smaller than the L2 cache: it is measured as it comes after itself (warm), and after a copy of
 * 512 MiB, when the field's edges, the buffer and the target of the copy beside it have all left L2 (cold).
 * */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device/device_cuda.h"
#include "device/nvml.h"
#include "fastest_variant.h"
#include "ladder/ladder.h"
#include "ladder/ladder_cublas.h"

enum {
    WARM_UP = 3,
    SAMPLES = 20,
    EDGE_PIECES = 8,
    EDGE_DEPTH_MAX = 8,
    EVICT_BYTES = 1 << 29,
    NAME_BYTES = 64
};

/* Energy is counted in steps of a tenth of a second. */
static const double heat_s = 0.5, sustained_s = 1.5;

static device *dev;
static device_stream *stream;

static void check(int code, const char *what)
{
    if (code == 0) return;
    fprintf(stderr, "%s: %s\n", what, dev ? dev->error_text(code) : device_cuda_error_text(code));
    exit(1);
}
#define CHECK(call) check((call), #call)

/* One launch of what is measured. */
typedef struct work {
    enum { COPY, PASS, TRANSPOSE, GEAM, MAX_CHANGE, FINGERPRINT, PACK, UNPACK, COPY_MESSAGE, FMA } kind;
    field_shape shape;
    void *next, *cur;
    int words; /* moved per cell */
    int sums;  /* multiply-adds a cell where they are the bound, else 0 */
    int64_t to_pitch, from_pitch; /* of a transpose, cells */
    const pack_piece *pieces;     /* of a message */
    int64_t message_cells;
    ladder_case *fma;
} work;

static double cells_of(const work *w) { return (double)box_cells(field_own(&w->shape)); }

static void launch(const work *w)
{
    const field_shape *f = &w->shape;
    const box own = field_own(f);
    void *to = field_at(f, w->next, 0, 0), *from = field_at(f, w->cur, 0, 0);
    switch (w->kind) {
    case COPY: CHECK(dev->copy(dev, to, from, (size_t)box_cells(own) * dtype_bytes(f->type), stream)); break;
    case PASS: CHECK(dev->stencil_pass(dev, f, w->next, w->cur, w->next, &own, 1, stream)); break;
    case TRANSPOSE:
        CHECK(dev->transpose(dev, f->type, w->next, w->to_pitch, w->cur, w->from_pitch, f->ny, f->nx,
                             TRANSPOSE_STORE, stream));
        break;
    case GEAM:
        CHECK(ladder_cublas_transpose(f->type, w->next, w->cur, (int)f->nx, (int)f->ny,
                                      device_cuda_stream(stream)));
        break;
    case MAX_CHANGE:
        CHECK(dev->max_change(dev, f, w->next, w->cur, own, w->next, stream));
        break; /* result: a pad cell */
    case FINGERPRINT: CHECK(dev->fingerprint(dev, f, w->cur, f->nx, 0, 0, w->next, stream)); break;
    case PACK: CHECK(dev->pack(dev, f, w->cur, w->next, w->pieces, EDGE_PIECES, stream)); break;
    case UNPACK:
        CHECK(dev->unpack(dev, f, w->cur, w->next, w->pieces, EDGE_PIECES, UNPACK_STORE, stream));
        break;
    case COPY_MESSAGE:
        CHECK(dev->copy(dev, w->next, w->cur, (size_t)w->message_cells * dtype_bytes(f->type), stream));
        break;
    case FMA: CHECK(w->fma->rung->enqueue(w->fma)); break;
    }
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double middle(double *sample)
{
    qsort(sample, SAMPLES, sizeof *sample, ascending);
    return (sample[SAMPLES / 2 - 1] + sample[SAMPLES / 2]) / 2;
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct watch {
    device_event *begun, *ended;
} watch;

static watch watch_create(void)
{
    watch t;
    CHECK(dev->event_create(dev, true, &t.begun));
    CHECK(dev->event_create(dev, true, &t.ended));
    return t;
}

static void watch_destroy(watch *t)
{
    CHECK(dev->event_destroy(dev, &t->begun));
    CHECK(dev->event_destroy(dev, &t->ended));
}

static void watch_start(const watch *t) { CHECK(dev->event_record(dev, t->begun, stream)); }

static double watch_stop_s(const watch *t)
{
    double s;
    CHECK(dev->event_record(dev, t->ended, stream));
    CHECK(dev->event_sync(dev, t->ended));
    CHECK(dev->event_seconds(dev, t->begun, t->ended, &s));
    return s;
}

/* evict: memory larger than L2 that is written before each sample, or NULL. */
static double median_s(const work *w, void *evict)
{
    double sample_s[SAMPLES];
    watch t = watch_create();
    for (int i = -WARM_UP; i < SAMPLES; i++) {
        if (evict) CHECK(dev->fill_bytes(dev, evict, i, EVICT_BYTES, stream));
        watch_start(&t);
        launch(w);
        const double s = watch_stop_s(&t);
        if (i >= 0) sample_s[i] = s;
    }
    watch_destroy(&t);
    return middle(sample_s);
}

typedef struct timed {
    const work *w;
    watch t;
} timed;

static double timed_s(const void *context)
{
    const timed *c = context;
    CHECK(dev->synchronize(dev));
    watch_start(&c->t);
    launch(c->w);
    return watch_stop_s(&c->t);
}

static const char *choose(const work *w)
{
    timed c = { .w = w, .t = watch_create() };
    const char *name = fastest_variant(&dev->stencil_variants, timed_s, &c);
    watch_destroy(&c.t);
    return name;
}

/* The rung of the ladder that measures the FMA peak. */
static const ladder_rung *fma_rung(void)
{
    int families;
    const ladder_family *const *family = ladder_families(&families);
    for (int i = 0; i < families; i++) {
        const ladder_family *f = family[i];
        if (f->kind != DEVICE_CUDA || strcmp(f->name, "ceiling") != 0) continue;
        for (int k = 0; k < f->rungs; k++)
            if (strcmp(f->rung[k].name, "fma") == 0) return &f->rung[k];
    }
    return NULL;
}

static ladder_case fma_case(dtype t)
{
    ladder_case fma = { .rung = fma_rung(), .d = dev, .stream = stream, .type = t };
    assert(fma.rung); /* as ladder_ceiling.cu has it */
    CHECK(fma.rung->prepare(&fma));
    return fma;
}

/* What part of the FMA peak w reaches, and the peak, in multiply-adds a second. */
static double fma_fraction(const work *w, double *peak)
{
    double work_s[SAMPLES], fma_s[SAMPLES];
    ladder_case fma = fma_case(w->shape.type);
    watch t = watch_create();
    for (int i = -WARM_UP; i < SAMPLES; i++) {
        watch_start(&t);
        launch(w);
        const double s = watch_stop_s(&t);
        watch_start(&t);
        CHECK(fma.rung->enqueue(&fma));
        const double beside_s = watch_stop_s(&t);
        if (i >= 0) work_s[i] = s, fma_s[i] = beside_s;
    }
    *peak = fma.work / 2 / middle(fma_s);
    ladder_close(&fma);
    watch_destroy(&t);
    return cells_of(w) * w->sums / middle(work_s) / *peak;
}

static double bytes_per_s(const work *w)
{
    return cells_of(w) * w->words * (double)dtype_bytes(w->shape.type) / median_s(w, NULL);
}

/* The two fields' memory, kept from one measurement to the next. After memory is freed the driver clears it
 * in the background, which slows whatever runs next by a tenth for a while: so little is freed, and then
 * waited for. */
static void *memory[2];

static void need(size_t bytes)
{
    static size_t held_bytes;
    const struct timespec a_while = { .tv_sec = 1 };
    if (bytes <= held_bytes) return;
    for (int i = 0; i < 2; i++) {
        if (memory[i]) CHECK(dev->free(dev, DEVICE_MEMORY_DEVICE, memory[i]));
        memory[i] = NULL;
    }
    held_bytes = bytes + bytes / 16; /* the next one is often a little larger */
    for (int i = 0; i < 2; i++) CHECK(dev->alloc(dev, DEVICE_MEMORY_DEVICE, held_bytes, &memory[i]));
    CHECK(dev->synchronize(dev));
    nanosleep(&a_while, NULL);
}

static void fill(work *w)
{
    const field_shape *f = &w->shape;
    const value random = { .kind = VALUE_RANDOM, .nx_global = f->nx, .ny_global = f->ny, .seed = 1 };
    const box all = box_make(-f->depth_x, f->nx + f->depth_x, -f->depth_y, f->ny + f->depth_y);
    need(f->bytes);
    w->next = memory[0];
    w->cur = memory[1];
    CHECK(dev->value_fill(dev, f, w->next, &random, all, stream));
    CHECK(dev->value_fill(dev, f, w->cur, &random, all, stream));
}

/* Fills the two fields, measures the work and then the copy of as many cells, prints one line. */
static void measure(const char *name, work w)
{
    const field_shape *f = &w.shape;
    fill(&w);
    work copy = w;
    copy.kind = COPY;
    copy.words = 2;
    const char *variant = w.kind == PASS ? choose(&w) : "";
    const double rate = bytes_per_s(&w), ceiling = bytes_per_s(&copy);
    printf("%-22s %s %12lld x %-6lld %7.0f GB/s  %.3f of copy (%.0f GB/s)", name, dtype_name(f->type),
           (long long)f->nx, (long long)f->ny, rate * 1e-9, rate / ceiling, ceiling * 1e-9);
    if (w.kind == TRANSPOSE && w.to_pitch == f->ny && w.from_pitch == f->nx && !ladder_cublas_missing(dev)) {
        work geam = w;
        geam.kind = GEAM;
        printf(", cuBLAS geam %.3f", bytes_per_s(&geam) / ceiling);
    }
    if (w.sums > 0) {
        double peak;
        const double fraction = fma_fraction(&w, &peak);
        printf(", %.3f of the FMA peak (%.2f T/s)", fraction, peak * 1e-12);
    }
    printf("  %s\n", variant);
    fflush(stdout);
}

/* A pass of this stencil, which is bound, and its name. */
static work pass_work(stencil_form form, int radius, dtype t, bool has_prev, int64_t nx, int64_t ny,
                      char name[static NAME_BYTES])
{
    stencil op = { form, radius, t, has_prev, -1.0, { 0 } };
    /* exact in both types */
    for (int k = 0; k < stencil_weights(form, radius); k++) op.weight[k] = 1.0 / 512;
    CHECK(dev->stencil_bind(dev, &op));
    snprintf(name, NAME_BYTES, "%s r=%d%s", stencil_form_name(form), radius, has_prev ? ", prev" : "");
    work w = { .kind = PASS,
               .shape = field_shape_make(t, nx, ny, radius, ny > 1 ? radius : 0),
               .words = has_prev ? 3 : 2 };
    if (form == STENCIL_BOX && radius >= 3) w.sums = stencil_weights(form, radius);
    return w;
}

static void measure_pass(stencil_form form, int radius, dtype t, bool has_prev, int64_t nx, int64_t ny)
{
    char name[NAME_BYTES];
    measure(name, pass_work(form, radius, t, has_prev, nx, ny, name));
}

/* rows x cols; pad: cells from the end of a row to the next, 0 for a dense matrix. */
static void measure_transpose(dtype t, int64_t rows, int64_t cols, int64_t pad)
{
    field_shape f = field_shape_make(t, cols, rows, 0, 0);
    const size_t bytes = (size_t)((cols + pad) * (rows + pad)) * dtype_bytes(t);
    if (f.bytes < bytes) f.bytes = bytes;
    measure(
        pad ? "transpose, padded" : "transpose, dense",
        (work){
            .kind = TRANSPOSE, .shape = f, .words = 2, .to_pitch = rows + pad, .from_pitch = cols + pad });
}

static void measure_transposes(dtype t)
{
    measure_transpose(t, 16384, 16384, 0);
    measure_transpose(t, 16384, 16384, FIELD_ALIGN_BYTES / (int64_t)dtype_bytes(t));
    measure_transpose(t, 16640, 16128, 0);
    measure_transpose(t, 10007, 9973, 0);
    measure_transpose(t, 9973, 10007, 0);
    measure_transpose(t, 1000, 1000000, 0);
}

/* The own cells within depth of each side and corner, or the ghosts beyond them, as messages start: on whole
 * lines. Returns the cells from the first piece's start to the last one's end. */
static int64_t edges(const field_shape *f, bool ghosts, pack_piece pieces[EDGE_PIECES])
{
    const int64_t line = FIELD_ALIGN_BYTES / (int64_t)dtype_bytes(f->type), d = f->depth_x,
                  out = ghosts ? d : 0;
    const int64_t x[3] = { -out, 0, f->nx - d + out }, width[3] = { d, f->nx, d };
    const int64_t y[3] = { -out, 0, f->ny - d + out }, height[3] = { d, f->ny, d };
    int64_t cells = 0;
    int count = 0;
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++) {
            if (i == 1 && j == 1) continue;
            pieces[count++] = (pack_piece){ box_make(x[i], x[i] + width[i], y[j], y[j] + height[j]), cells };
            cells += (width[i] * height[j] + line - 1) / line * line;
        }
    return cells;
}

static void measure_edges(dtype t, int depth)
{
    const field_shape f = field_shape_make(t, 16384, 16384, depth, depth);
    const value random = { .kind = VALUE_RANDOM, .nx_global = f.nx, .ny_global = f.ny, .seed = 1 };
    pack_piece own[EDGE_PIECES], ghosts[EDGE_PIECES];
    void *message[2];
    const int64_t cells = edges(&f, false, own);
    const size_t bytes = (size_t)cells * dtype_bytes(t);
    edges(&f, true, ghosts);
    need(f.bytes);
    void *const field = memory[0], *const evict = memory[1];
    assert(f.bytes >= EVICT_BYTES + 2 * bytes);
    for (int i = 0; i < 2; i++) message[i] = (char *)evict + EVICT_BYTES + (size_t)i * bytes;
    CHECK(dev->value_fill(dev, &f, field, &random, field_own(&f), stream));
    printf("edges, depth %d        %s %8.3f MiB", depth, dtype_name(t), (double)bytes / (1 << 20));
    for (int cold = 0; cold <= 1; cold++) {
        const work pack = { .kind = PACK, .shape = f, .next = message[0], .cur = field, .pieces = own };
        const work unpack = {
            .kind = UNPACK, .shape = f, .next = message[0], .cur = field, .pieces = ghosts
        };
        const work copy = {
            .kind = COPY_MESSAGE, .shape = f, .next = message[1], .cur = message[0], .message_cells = cells
        };
        const double pack_s = median_s(&pack, cold ? evict : NULL),
                     unpack_s = median_s(&unpack, cold ? evict : NULL);
        const double copy_s = median_s(&copy, cold ? evict : NULL);
        printf("   %s: pack %5.2f us, unpack %5.2f us, %.2f and %.2f of a copy (%5.2f us)",
               cold ? "cold" : "warm", pack_s * 1e6, unpack_s * 1e6, pack_s / copy_s, unpack_s / copy_s,
               copy_s * 1e6);
    }
    printf("\n");
}

static void measure_reductions(dtype t, int64_t nx, int64_t ny)
{
    const field_shape f = field_shape_make(t, nx, ny, 1, 1);
    measure("max_change", (work){ .kind = MAX_CHANGE, .shape = f, .words = 2 });
    measure("fingerprint", (work){ .kind = FINGERPRINT, .shape = f, .words = 1 });
}

static void measure_boxes(dtype t, int64_t nx, int64_t ny)
{
    for (int r = 1; r <= STENCIL_RADIUS_MAX; r += r < 4 ? 1 : 4)
        measure_pass(STENCIL_BOX, r, t, false, nx, ny);
}

/* Launches w for a while, enough at a time that the GPU hardly ever waits. Returns how often, and in *seconds
 * for how long. */
static int launches_in(const work *w, double least_s, double *seconds)
{
    const double begin_s = now_s();
    int launches = 0;
    for (; (*seconds = now_s() - begin_s) < least_s; launches += SAMPLES) {
        for (int i = 0; i < SAMPLES; i++) launch(w);
        CHECK(dev->synchronize(dev));
    }
    return launches;
}

/* Per cell, or per multiply-add of FMA alone. */
static void sustain(const char *name, const char *variant, const work *w)
{
    const double units = w->kind == FMA ? w->fma->work / 2 : cells_of(w);
    double seconds;
    (void)launches_in(w, heat_s, &seconds);
    const nvml_reading before = nvml_read(dev->uuid);
    const double rate = launches_in(w, sustained_s, &seconds) * units / seconds;
    const nvml_reading after = nvml_read(dev->uuid);
    const double power_w = (after.energy_j - before.energy_j) / seconds;
    const double held = (after.power_held_s - before.power_held_s) / (after.held_at_s - before.held_at_s);
    printf("%-12s %s %8.1f G/s  %4.0f W  %7.1f pJ each  clock held down %3.0f %% of the time  %s\n", name,
           dtype_name(w->shape.type), rate * 1e-9, power_w, power_w / rate * 1e12, 100 * held, variant);
    fflush(stdout);
}

static void sustain_pass(stencil_form form, int radius, dtype t, int64_t nx, int64_t ny)
{
    char name[NAME_BYTES];
    work w = pass_work(form, radius, t, false, nx, ny, name);
    fill(&w);
    for (int v = 0; v < dev->stencil_variants.count; v++) {
        dev->stencil_variants.chosen = v;
        sustain(name, dev->stencil_variants.name[v], &w);
    }
}

static void measure_sustained(dtype t, int64_t nx, int64_t ny)
{
    char name[NAME_BYTES];
    work w = pass_work(STENCIL_STAR, 1, t, false, nx, ny, name);
    w.kind = COPY;
    fill(&w);
    sustain("copy", "", &w);
    ladder_case fma = fma_case(t);
    w.kind = FMA;
    w.fma = &fma;
    sustain("fma", "", &w);
    ladder_close(&fma);
    for (int r = 1; r <= STENCIL_RADIUS_MAX; r++) sustain_pass(STENCIL_STAR, r, t, nx, ny);
    for (int r = 3; r <= 4; r++) sustain_pass(STENCIL_BOX, r, t, nx, ny);
}

static void measure_sweeps(dtype t, int64_t nx, int64_t ny)
{
    for (int r = 1; r <= STENCIL_RADIUS_MAX; r++) measure_pass(STENCIL_STAR, r, t, false, nx, ny);
    for (int r = 1; r <= 4; r += 3) measure_pass(STENCIL_STAR, r, t, true, nx, ny);
    measure_boxes(t, nx, ny);
    for (int r = 1; r <= STENCIL_RADIUS_MAX; r *= 2) measure_pass(STENCIL_LINE, r, t, false, nx * ny, 1);
    measure_pass(STENCIL_LINE, 4, t, false, nx, ny);
    measure_reductions(t, nx, ny);
}

int main(int argc, char **argv)
{
    const bool boxes = argc == 2 && strcmp(argv[1], "boxes") == 0;
    const bool transposes = argc == 2 && strcmp(argv[1], "transposes") == 0;
    const bool packs = argc == 2 && strcmp(argv[1], "packs") == 0;
    const bool reductions = argc == 2 && strcmp(argv[1], "reductions") == 0;
    const bool sustained = argc == 2 && strcmp(argv[1], "sustained") == 0;
    const bool subject = boxes || transposes || packs || reductions || sustained;
    const int64_t nx = argc > 1 && !subject ? strtoll(argv[1], NULL, 10) : 16384;
    const int64_t ny = argc > 2 ? strtoll(argv[2], NULL, 10) : nx;
    const char *why = NULL;
    int code = 0;
    if (nx < 1 || ny < 1) {
        fprintf(stderr, "usage: %s [NX [NY] | boxes | sustained | transposes | reductions | packs]\n",
                argv[0]);
        return 2;
    }
    if (device_cuda_count(&why) == 0) {
        printf("skipped: %s\n", why);
        return 77;
    }
    dev = device_cuda_create(0, &code);
    check(code, "device_cuda_create");
    CHECK(dev->stream_create(dev, false, &stream));
    printf("%s, driver %s\n", dev->name, dev->driver);
    for (dtype t = DTYPE_F32; t <= DTYPE_F64; t++)
        if (boxes)
            measure_boxes(t, 16384, 16384), measure_boxes(t, 10007, 9973);
        else if (sustained)
            measure_sustained(t, 16384, 16384);
        else if (transposes) measure_transposes(t);
        else if (reductions)
            measure_reductions(t, 16384, 16384), measure_reductions(t, 10007, 9973);
        else if (packs)
            for (int depth = 1; depth <= EDGE_DEPTH_MAX; depth++) measure_edges(t, depth);
        else measure_sweeps(t, nx, ny);
    for (int i = 0; i < 2; i++)
        if (memory[i]) CHECK(dev->free(dev, DEVICE_MEMORY_DEVICE, memory[i]));
    CHECK(dev->stream_destroy(dev, &stream));
    device_destroy(&dev);
    return 0;
}
