/* Measures the CUDA kernels that sweep whole fields, each beside a device-to-device copy of the same run: medians of 20
 * launches by events, random data. Bytes are the algorithm's: each cell of each field that a kernel reads or writes, once.
 *
 *   measure_cuda_sweep [NX [NY]]     fields are NX x NY (16384 x 16384), the 1D line is as long as all of them
 *   measure_cuda_sweep transposes    dense matrices of several shapes, and padded ones */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

enum { WARM_UP = 3, SAMPLES = 20 };

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
    enum { COPY, SWEEP, TRANSPOSE, MAX_CHANGE, FINGERPRINT } kind;
    field_shape shape;
    void *next, *cur;
    int words; /* moved a cell */
    int64_t to_pitch, from_pitch; /* of a transpose, cells */
} work;

static void launch(const work *w)
{
    const field_shape *f = &w->shape;
    const box own = field_own(f);
    void *to = field_at(f, w->next, 0, 0), *from = field_at(f, w->cur, 0, 0);
    switch (w->kind) {
    case COPY: CHECK(dev->copy(dev, to, from, (size_t)box_cells(own) * dtype_bytes(f->type), stream)); break;
    case SWEEP: CHECK(dev->stencil_sweep(dev, f, w->next, w->cur, w->next, &own, 1, stream)); break;
    case TRANSPOSE: CHECK(dev->transpose(dev, f->type, w->next, w->to_pitch, w->cur, w->from_pitch, f->ny, f->nx, TRANSPOSE_STORE, stream)); break;
    case MAX_CHANGE: CHECK(dev->max_change(dev, f, w->next, w->cur, own, w->next, stream)); break; /* result: a pad cell */
    case FINGERPRINT: CHECK(dev->fingerprint(dev, f, w->cur, f->nx, 0, 0, w->next, stream)); break;
    }
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_s(const work *w)
{
    double sample_s[SAMPLES];
    device_event *begun, *ended;
    CHECK(dev->event_create(dev, true, &begun));
    CHECK(dev->event_create(dev, true, &ended));
    for (int i = -WARM_UP; i < SAMPLES; i++) {
        CHECK(dev->event_record(dev, begun, stream));
        launch(w);
        CHECK(dev->event_record(dev, ended, stream));
        CHECK(dev->event_sync(dev, ended));
        if (i >= 0) CHECK(dev->event_seconds(dev, begun, ended, &sample_s[i]));
    }
    CHECK(dev->event_destroy(dev, &begun));
    CHECK(dev->event_destroy(dev, &ended));
    qsort(sample_s, SAMPLES, sizeof *sample_s, ascending);
    return (sample_s[SAMPLES / 2 - 1] + sample_s[SAMPLES / 2]) / 2;
}

static double bytes_per_s(const work *w)
{
    return (double)box_cells(field_own(&w->shape)) * w->words * (double)dtype_bytes(w->shape.type) / median_s(w);
}

/* Allocates and fills the two fields, measures the work and then the copy of as many cells, prints one line. */
static void measure(const char *name, work w)
{
    const field_shape *f = &w.shape;
    const value random = { .kind = VALUE_RANDOM, .nx_global = f->nx, .ny_global = f->ny, .seed = 1 };
    const box all = box_make(-f->depth_x, f->nx + f->depth_x, -f->depth_y, f->ny + f->depth_y);
    CHECK(dev->alloc(dev, DEVICE_MEMORY_DEVICE, f->bytes, &w.next));
    CHECK(dev->alloc(dev, DEVICE_MEMORY_DEVICE, f->bytes, &w.cur));
    CHECK(dev->value_fill(dev, f, w.next, &random, all, stream));
    CHECK(dev->value_fill(dev, f, w.cur, &random, all, stream));
    work copy = w;
    copy.kind = COPY;
    copy.words = 2;
    const double rate = bytes_per_s(&w), ceiling = bytes_per_s(&copy);
    printf("%-22s %s %12lld x %-6lld %7.0f GB/s  %.3f of copy (%.0f GB/s)\n", name, dtype_name(f->type), (long long)f->nx,
           (long long)f->ny, rate * 1e-9, rate / ceiling, ceiling * 1e-9);
    fflush(stdout);
    CHECK(dev->free(dev, DEVICE_MEMORY_DEVICE, w.next));
    CHECK(dev->free(dev, DEVICE_MEMORY_DEVICE, w.cur));
}

static void measure_sweep(stencil_form form, int radius, dtype t, bool has_prev, int64_t nx, int64_t ny)
{
    static const char *const names[] = { "line", "star", "box" };
    char name[64];
    stencil op = { form, radius, t, has_prev, -1.0, { 0 } };
    for (int k = 0; k < stencil_weights(form, radius); k++) op.weight[k] = 1.0 / 512; /* exact in both types */
    CHECK(dev->stencil_bind(dev, &op));
    snprintf(name, sizeof name, "%s r=%d%s", names[form], radius, has_prev ? ", prev" : "");
    const field_shape f = field_shape_make(t, nx, ny, radius, ny > 1 ? radius : 0);
    measure(name, (work){ SWEEP, f, NULL, NULL, has_prev ? 3 : 2, 0, 0 });
}

/* rows x cols; pad: cells from the end of a row to the next, 0 for a dense matrix. */
static void measure_transpose(dtype t, int64_t rows, int64_t cols, int64_t pad)
{
    field_shape f = field_shape_make(t, cols, rows, 0, 0);
    const size_t bytes = (size_t)((cols + pad) * (rows + pad)) * dtype_bytes(t);
    if (f.bytes < bytes) f.bytes = bytes;
    measure(pad ? "transpose, padded" : "transpose, dense", (work){ TRANSPOSE, f, NULL, NULL, 2, rows + pad, cols + pad });
}

static void measure_transposes(dtype t)
{
    measure_transpose(t, 16384, 16384, 0);
    measure_transpose(t, 16384, 16384, FIELD_ALIGN_BYTES / (int64_t)dtype_bytes(t));
    measure_transpose(t, 16640, 16128, 0);
    measure_transpose(t, 10007, 9973, 0);
    measure_transpose(t, 1000, 1000000, 0);
}

static void measure_sweeps(dtype t, int64_t nx, int64_t ny)
{
    for (int r = 1; r <= STENCIL_RADIUS_MAX; r++) measure_sweep(STENCIL_STAR, r, t, false, nx, ny);
    for (int r = 1; r <= 4; r += 3) measure_sweep(STENCIL_STAR, r, t, true, nx, ny);
    for (int r = 1; r <= STENCIL_RADIUS_MAX; r += r < 4 ? 1 : 4) measure_sweep(STENCIL_BOX, r, t, false, nx, ny);
    for (int r = 1; r <= STENCIL_RADIUS_MAX; r *= 2) measure_sweep(STENCIL_LINE, r, t, false, nx * ny, 1);
    measure_sweep(STENCIL_LINE, 4, t, false, nx, ny);
    const field_shape f = field_shape_make(t, nx, ny, 1, 1);
    measure("max_change", (work){ MAX_CHANGE, f, NULL, NULL, 2, 0, 0 });
    measure("fingerprint", (work){ FINGERPRINT, f, NULL, NULL, 1, 0, 0 });
}

int main(int argc, char **argv)
{
    const bool transposes = argc == 2 && strcmp(argv[1], "transposes") == 0;
    const int64_t nx = argc > 1 && !transposes ? strtoll(argv[1], NULL, 10) : 16384;
    const int64_t ny = argc > 2 ? strtoll(argv[2], NULL, 10) : nx;
    const char *why = NULL;
    int code = 0;
    if (nx < 1 || ny < 1) {
        fprintf(stderr, "usage: %s [NX [NY] | transposes]\n", argv[0]);
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
        if (transposes) measure_transposes(t);
        else measure_sweeps(t, nx, ny);
    CHECK(dev->stream_destroy(dev, &stream));
    device_destroy(&dev);
    return 0;
}
