/* Every device function gives on CUDA, from the same input, the bits that it gives on the host, and writes nothing else:
 * whole allocations are compared, padding and ghosts included. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device.h"

enum { HOST, CUDA, DEVICES };

static device *dev[DEVICES];
static device_stream *stream[DEVICES];

#define OK(i, call)                                                                                      \
    do {                                                                                                 \
        const int code_ = (call);                                                                        \
        if (code_) fail_msg("%s: %s: %s", dev[i]->name, #call, dev[i]->error_text(code_));                \
    } while (0)
#define ON_BOTH for (int i = 0; i < DEVICES; i++)

/* ---- the same memory on both devices ---- */

typedef struct twin {
    size_t bytes;
    void *at[DEVICES];
} twin;

static uint64_t random_state = 1;

static uint64_t random_bits(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

/* In [-1, 1), short enough to be exact in f32. */
static double random_number(void) { return (double)(int64_t)(random_bits() >> 40) * 0x1p-23 - 1.0; }
static int64_t random_below(int64_t n) { return (int64_t)(random_bits() % (uint64_t)n); }

static twin twin_of(const void *content, size_t bytes)
{
    twin t = { bytes, { NULL, NULL } };
    ON_BOTH {
        OK(i, dev[i]->alloc(dev[i], DEVICE_MEMORY_DEVICE, bytes, &t.at[i]));
        OK(i, dev[i]->copy(dev[i], t.at[i], content, bytes, stream[i]));
        OK(i, dev[i]->stream_sync(dev[i], stream[i]));
    }
    return t;
}

/* Random numbers of a type in every cell, also in those that nobody should read. */
static twin twin_random(dtype type, size_t bytes)
{
    void *content = malloc(bytes);
    assert_non_null(content);
    for (size_t k = 0; k < bytes / dtype_bytes(type); k++)
        if (type == DTYPE_F32) ((float *)content)[k] = (float)random_number();
        else ((double *)content)[k] = random_number() + random_number() * 0x1p-30;
    const twin t = twin_of(content, bytes);
    free(content);
    return t;
}

static void twin_free(twin *t)
{
    ON_BOTH OK(i, dev[i]->free(dev[i], DEVICE_MEMORY_DEVICE, t->at[i]));
}

static void assert_same(const twin *t, const char *format, ...)
{
    unsigned char *seen = malloc(t->bytes);
    assert_non_null(seen);
    OK(CUDA, dev[CUDA]->copy(dev[CUDA], seen, t->at[CUDA], t->bytes, stream[CUDA]));
    OK(CUDA, dev[CUDA]->stream_sync(dev[CUDA], stream[CUDA]));
    size_t k = 0;
    while (k < t->bytes && seen[k] == ((const unsigned char *)t->at[HOST])[k]) k++;
    free(seen);
    if (k == t->bytes) return;
    char what[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    fail_msg("%s: byte %zu of %zu differs", what, k, t->bytes);
}

/* ---- the sweep ---- */

static const int64_t sizes[][2] = { { 1, 1 },    { 7, 5 },  { 33, 9 },  { 129, 65 }, { 1000, 37 },
                                    { 300, 260 }, { 5, 1 }, { 1000, 1 }, { 4097, 1 } };
enum { SIZES = sizeof sizes / sizeof *sizes };

static void sweep_case(const stencil *op, int64_t nx, int64_t ny, int extra_depth)
{
    const int depth_y = ny == 1 && op->form == STENCIL_LINE ? 0 : op->radius + extra_depth;
    const field_shape f = field_shape_make(op->type, nx, ny, op->radius + extra_depth, depth_y);
    twin cur = twin_random(f.type, f.bytes), prev = twin_random(f.type, f.bytes), next = twin_random(f.type, f.bytes);
    const box all = field_own(&f), inner = box_make(nx / 3, nx - nx / 4, ny / 4, ny - ny / 3);
    box shell[STENCIL_BOXES_MAX];
    const int count = box_shell(all, inner, shell);
    /* ragged columns, an empty box between them, a single cell */
    const box odd[] = { { 0, (nx + 2) / 3, 0, ny }, { 3, 3, 0, ny }, { nx - 1, nx, ny / 2, ny },
                        { nx / 2 + 1, nx / 2 + 2, ny / 3, ny / 3 + 1 } };
    const int odd_count = nx > 4 ? 4 : 2;
    ON_BOTH {
        device *d = dev[i];
        OK(i, d->stencil_sweep(d, &f, next.at[i], cur.at[i], prev.at[i], &all, 1, stream[i]));
        /* the other way round, in place: next is prev */
        OK(i, d->stencil_sweep(d, &f, prev.at[i], next.at[i], prev.at[i], shell, count, stream[i]));
        OK(i, d->stencil_sweep(d, &f, cur.at[i], prev.at[i], next.at[i], odd, odd_count, stream[i]));
    }
    const char *form = op->form == STENCIL_LINE ? "line" : op->form == STENCIL_STAR ? "star" : "box";
    const twin *fields[] = { &next, &prev, &cur };
    for (int k = 0; k < 3; k++)
        assert_same(fields[k], "%s r=%d %s prev=%d %lldx%lld sweep %d", form, op->radius, dtype_name(op->type),
                    op->has_prev, (long long)nx, (long long)ny, k + 1);
    twin_free(&cur);
    twin_free(&prev);
    twin_free(&next);
}

static void sweeps(stencil_form form)
{
    for (int radius = 1; radius <= STENCIL_RADIUS_MAX; radius++)
        for (dtype type = DTYPE_F32; type <= DTYPE_F64; type++)
            for (int has_prev = 0; has_prev <= 1; has_prev++) {
                stencil op = { form, radius, type, has_prev, has_prev ? random_number() : 0.0, { 0 } };
                for (int k = 0; k < stencil_weights(form, radius); k++) op.weight[k] = random_number() / radius;
                if (type == DTYPE_F32)
                    for (int k = 0; k < STENCIL_WEIGHTS_MAX; k++) op.weight[k] = (float)op.weight[k];
                ON_BOTH OK(i, dev[i]->stencil_bind(dev[i], &op));
                for (int k = 0; k < SIZES; k++) sweep_case(&op, sizes[k][0], sizes[k][1], k % 2 ? 3 : 0);
            }
}

static void line_sweeps(void **state) { (void)state, sweeps(STENCIL_LINE); }
static void star_sweeps(void **state) { (void)state, sweeps(STENCIL_STAR); }
static void box_sweeps(void **state) { (void)state, sweeps(STENCIL_BOX); }

/* So wide that tiles go in more than one band of columns. */
static void wide_sweeps(void **state)
{
    (void)state;
    for (dtype type = DTYPE_F32; type <= DTYPE_F64; type++) {
        const stencil op = { STENCIL_STAR, 1, type, true, -1.0, { 0.25, 0.5, -0.75, 0.125, 2.0 } };
        ON_BOTH OK(i, dev[i]->stencil_bind(dev[i], &op));
        sweep_case(&op, 70001, 35, 0);
    }
}

/* So tall that the GPU is full without cutting the tiles' height: their rows pass through the ring many times. */
static void tall_sweeps(void **state)
{
    (void)state;
    static const struct { stencil_form form; int radius; } all[] = {
        { STENCIL_STAR, 2 }, { STENCIL_STAR, 4 }, { STENCIL_STAR, 5 }, { STENCIL_STAR, 8 },
        { STENCIL_BOX, 2 },  { STENCIL_BOX, 3 },  { STENCIL_BOX, 4 },  { STENCIL_BOX, 5 },
    };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        for (dtype type = DTYPE_F32; type <= DTYPE_F64; type++) {
            stencil op = { all[k].form, all[k].radius, type, k % 2 == 0, -1.0, { 0 } };
            for (int i = 0; i < stencil_weights(op.form, op.radius); i++) op.weight[i] = random_number() / op.radius;
            if (type == DTYPE_F32)
                for (int i = 0; i < STENCIL_WEIGHTS_MAX; i++) op.weight[i] = (float)op.weight[i];
            ON_BOTH OK(i, dev[i]->stencil_bind(dev[i], &op));
            sweep_case(&op, 37, 132007, 0);
        }
}

/* ---- ghosts ---- */

/* The regions around the own cells that lie beyond at least one side that is not NONE. */
static int ghost_boxes(const field_shape *f, const boundary *b, box boxes[BOUNDARY_BOXES_MAX])
{
    const int64_t x[] = { -f->depth_x, 0, f->nx, f->nx + f->depth_x }, y[] = { -f->depth_y, 0, f->ny, f->ny + f->depth_y };
    const boundary_kind kx[] = { b->x_low.kind, BOUNDARY_NONE, b->x_high.kind };
    const boundary_kind ky[] = { b->y_low.kind, BOUNDARY_NONE, b->y_high.kind };
    int count = 0;
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++)
            if (kx[i] != BOUNDARY_NONE || ky[j] != BOUNDARY_NONE)
                boxes[count++] = box_make(x[i], x[i + 1], y[j], y[j + 1]);
    return count;
}

static void ghosts(void **state)
{
    (void)state;
    static const boundary_kind pairs[][2] = {
        { BOUNDARY_PERIODIC, BOUNDARY_PERIODIC },   { BOUNDARY_NONE, BOUNDARY_NONE },
        { BOUNDARY_NONE, BOUNDARY_DIRICHLET },      { BOUNDARY_NONE, BOUNDARY_NEUMANN },
        { BOUNDARY_DIRICHLET, BOUNDARY_NONE },      { BOUNDARY_DIRICHLET, BOUNDARY_DIRICHLET },
        { BOUNDARY_DIRICHLET, BOUNDARY_NEUMANN },   { BOUNDARY_NEUMANN, BOUNDARY_NONE },
        { BOUNDARY_NEUMANN, BOUNDARY_DIRICHLET },   { BOUNDARY_NEUMANN, BOUNDARY_NEUMANN },
    };
    /* nx, ny, depth_x, depth_y: also ghosts deeper than the axis is long, and 1D */
    static const int shapes[][4] = { { 9, 7, 1, 1 }, { 37, 11, 8, 8 }, { 700, 5, 2, 3 }, { 2, 3, 5, 7 }, { 1, 1, 3, 3 }, { 50, 1, 4, 0 } };
    enum { PAIRS = sizeof pairs / sizeof *pairs, SHAPES = sizeof shapes / sizeof *shapes };
    for (int k = 0; k < SHAPES * PAIRS * PAIRS * 2; k++) {
        const int *n = shapes[k % SHAPES], px = k / SHAPES % PAIRS, py = k / SHAPES / PAIRS % PAIRS;
        const dtype type = k / SHAPES / PAIRS / PAIRS ? DTYPE_F64 : DTYPE_F32;
        const field_shape f = field_shape_make(type, n[0], n[1], n[2], n[3]);
        const boundary b = { { pairs[px][0], 0.1 }, { pairs[px][1], -0.7 }, { pairs[py][0], 1.3 }, { pairs[py][1], 0.0 } };
        box boxes[BOUNDARY_BOXES_MAX];
        const int count = ghost_boxes(&f, &b, boxes);
        twin field = twin_random(type, f.bytes);
        ON_BOTH OK(i, dev[i]->boundary_fill(dev[i], &f, field.at[i], &b, boxes, count, stream[i]));
        assert_same(&field, "ghosts %s %dx%d depth %d,%d sides %d%d %d%d", dtype_name(type), n[0], n[1], n[2], n[3],
                    (int)b.x_low.kind, (int)b.x_high.kind, (int)b.y_low.kind, (int)b.y_high.kind);
        twin_free(&field);
    }
}

/* ---- messages ---- */

static void messages(void **state)
{
    (void)state;
    for (int k = 0; k < 200; k++) {
        const dtype type = k % 2 ? DTYPE_F64 : DTYPE_F32;
        const field_shape f = field_shape_make(type, 1 + random_below(700), 1 + random_below(60), 8, 8);
        pack_piece pieces[PACK_PIECES_MAX];
        const int count = 1 + (int)random_below(PACK_PIECES_MAX);
        int64_t cells = random_below(4);
        for (int p = 0; p < count; p++) { /* bands of rows, of which no two meet; every third on whole lines */
            const int64_t low = -8 + (f.ny + 16) * p / count, high = -8 + (f.ny + 16) * (p + 1) / count;
            const int64_t x0 = p % 3 ? random_below(f.nx + 16) - 8 : 0;
            const int64_t x1 = p % 3 ? x0 + random_below(f.nx + 9 - x0) : f.nx & ~31;
            pieces[p] = (pack_piece){ box_make(x0, x1, low, high), cells };
            cells += box_cells(pieces[p].cells) + (p % 2 ? random_below(3) : 0);
            if (p % 3 == 2) cells = (cells + 31) & ~31; /* the next one may move as vectors */
        }
        twin field = twin_random(type, f.bytes), packed = twin_random(type, (size_t)(cells + 5) * dtype_bytes(type));
        twin added = twin_random(type, f.bytes), stored = twin_random(type, f.bytes);
        ON_BOTH {
            device *d = dev[i];
            OK(i, d->pack(d, &f, field.at[i], packed.at[i], pieces, count, stream[i]));
            OK(i, d->unpack(d, &f, stored.at[i], packed.at[i], pieces, count, UNPACK_STORE, stream[i]));
            OK(i, d->unpack(d, &f, added.at[i], packed.at[i], pieces, count, UNPACK_ADD, stream[i]));
        }
        twin *all[] = { &field, &packed, &stored, &added };
        static const char *const names[] = { "packed field", "buffer", "unpacked field", "field added to" };
        for (int n = 0; n < 4; n++) assert_same(all[n], "%s, case %d", names[n], k);
        for (int n = 0; n < 4; n++) twin_free(all[n]);
    }
}

static void transpose_case(dtype type, int64_t rows, int64_t cols, int64_t to_pitch, int64_t from_pitch, int to_skip,
                           int from_skip, int flags)
{
    const size_t cell = dtype_bytes(type);
    twin to = twin_random(type, (size_t)(to_pitch * cols + to_skip) * cell);
    twin from = twin_random(type, (size_t)(from_pitch * rows + from_skip) * cell);
    ON_BOTH OK(i, dev[i]->transpose(dev[i], type, (char *)to.at[i] + (size_t)to_skip * cell, to_pitch,
                                    (char *)from.at[i] + (size_t)from_skip * cell, from_pitch, rows, cols, flags, stream[i]));
    assert_same(&to, "target, %lldx%lld pitches %lld %lld flags %d", (long long)rows, (long long)cols, (long long)to_pitch,
                (long long)from_pitch, flags);
    assert_same(&from, "source, %lldx%lld pitches %lld %lld flags %d", (long long)rows, (long long)cols,
                (long long)to_pitch, (long long)from_pitch, flags);
    twin_free(&to);
    twin_free(&from);
}

/* Dense and padded, on whole vectors and at every other phase of both matrices. */
static void transposes(void **state)
{
    (void)state;
    static const int64_t shapes[][2] = { { 1, 1 },   { 1, 40 },   { 5, 7 },    { 33, 65 },  { 64, 64 }, { 1000, 37 },
                                         { 100, 257 }, { 128, 192 }, { 61, 130 }, { 3, 515 }, { 259, 66 } };
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        for (int flags = 0; flags < 4; flags++)
            for (dtype type = DTYPE_F32; type <= DTYPE_F64; type++) {
                const int64_t rows = shapes[k][0], cols = shapes[k][1], step = (int64_t)k;
                transpose_case(type, rows, cols, rows, cols, 0, 0, flags);
                transpose_case(type, rows, cols, rows + 3, cols + step, 0, 0, flags);
                transpose_case(type, rows, cols, (rows + 7) & ~(int64_t)3, (cols + 3) & ~(int64_t)3, 0, 0, flags);
                for (int skip = 0; skip < 16; skip++)
                    transpose_case(type, rows, cols, rows + step % 4, cols + skip % 3, skip & 3, skip >> 2, flags);
            }
}

/* ---- values and reductions ---- */

/* The tables of a value live on its device: one value a device. */
static void make_values(value v[DEVICES], value_kind kind, const twin *tables, int bits, bool transposed)
{
    ON_BOTH {
        const double *t = tables->at[i]; /* 2048 numbers; each table is some stretch of them */
        const value_axis x = { t, t + 512, 3 >> bits, bits, VALUE_COMPLEX };
        const value_axis y = { t + 700, t + 900, 0, bits, VALUE_IMAGINARY_PART };
        v[i] = (value){ kind, 420, 260, 3, 11, x, y, 0.7, -0.4, 0.1, 12345, t, transposed };
    }
}

static void values_and_reductions(void **state)
{
    (void)state;
    twin tables = twin_random(DTYPE_F64, 2048 * sizeof(double));
    twin result = twin_random(DTYPE_F64, sizeof(uint64_t));
    const uint32_t odd_nan_f32 = 0xffc12345u;
    const uint64_t odd_nan_f64 = 0xfff8123456789abcull;
    for (int k = 0; k < 48; k++) {
        const dtype type = k % 2 ? DTYPE_F64 : DTYPE_F32;
        const value_kind kind = (value_kind)(k / 2 % 3);
        const bool with_nan = k / 6 % 2;
        const field_shape f = field_shape_make(type, k / 12 % 2 ? 41 : 400, k / 24 ? 1 : 200, 2, 2);
        const box part = box_make(f.nx / 5, f.nx - f.nx / 7, f.ny / 6, f.ny);
        twin a = twin_random(type, f.bytes), b = twin_random(type, f.bytes);
        value v[DEVICES];
        make_values(v, kind, &tables, k % 4 < 2 ? 4 : 0, k / 6 % 2);
        ON_BOTH {
            device *d = dev[i];
            OK(i, d->value_fill(d, &f, a.at[i], &v[i], part, stream[i]));
            if (!with_nan) continue;
            const void *nan = type == DTYPE_F32 ? (const void *)&odd_nan_f32 : &odd_nan_f64;
            OK(i, d->copy(d, field_at(&f, a.at[i], part.x1 - 1, part.y0), nan, dtype_bytes(type), stream[i]));
            OK(i, d->stream_sync(d, stream[i]));
        }
        assert_same(&a, "value_fill kind %d, case %d", (int)kind, k);
        ON_BOTH OK(i, dev[i]->max_error(dev[i], &f, a.at[i], &v[i], field_own(&f), result.at[i], stream[i]));
        assert_same(&result, "max_error, case %d", k);
        ON_BOTH OK(i, dev[i]->max_change(dev[i], &f, a.at[i], b.at[i], part, result.at[i], stream[i]));
        assert_same(&result, "max_change, case %d", k);
        assert_int_equal(*(const uint64_t *)result.at[HOST] > 0x7ff0000000000000ull, with_nan);
        ON_BOTH OK(i, dev[i]->fingerprint(dev[i], &f, a.at[i], 1000003, 17, 5, result.at[i], stream[i]));
        assert_same(&result, "fingerprint, case %d", k);
        ON_BOTH OK(i, dev[i]->max_change(dev[i], &f, a.at[i], b.at[i], box_make(5, 5, 0, 1), result.at[i], stream[i]));
        assert_same(&result, "max_change of no cells, case %d", k);
        twin_free(&a);
        twin_free(&b);
    }
    twin_free(&tables);
    twin_free(&result);
}

/* ---- copies, streams, events ---- */

static void copies_and_events(void **state)
{
    (void)state;
    twin a = twin_random(DTYPE_F32, 40000), b = twin_random(DTYPE_F32, 40000);
    ON_BOTH {
        device *d = dev[i];
        device_stream *urgent = NULL;
        device_event *begun = NULL, *ended = NULL;
        void *pinned = NULL;
        double seconds = -1;
        bool done = false;
        OK(i, d->stream_create(d, true, &urgent));
        OK(i, d->event_create(d, true, &begun));
        OK(i, d->event_create(d, true, &ended));
        OK(i, d->alloc(d, DEVICE_MEMORY_PINNED, 12000, &pinned));
        OK(i, d->event_record(d, begun, stream[i]));
        OK(i, d->copy_rows(d, (char *)a.at[i] + 8, 300, (char *)b.at[i] + 4, 200, 96, 100, stream[i]));
        OK(i, d->copy_rows(d, pinned, 120, a.at[i], 300, 120, 100, stream[i]));
        OK(i, d->event_record(d, ended, stream[i]));
        OK(i, d->event_wait(d, ended, urgent));
        OK(i, d->copy(d, b.at[i], pinned, 12000, urgent));
        OK(i, d->fill_bytes(d, (char *)b.at[i] + 30000, 0xa5, 777, urgent));
        OK(i, d->stream_sync(d, urgent));
        OK(i, d->event_sync(d, ended));
        OK(i, d->event_done(d, ended, &done));
        OK(i, d->event_seconds(d, begun, ended, &seconds));
        assert_true(done && seconds >= 0 && seconds < 10);
        OK(i, d->free(d, DEVICE_MEMORY_PINNED, pinned));
        OK(i, d->event_destroy(d, &begun));
        OK(i, d->event_destroy(d, &ended));
        OK(i, d->stream_destroy(d, &urgent));
        assert_true(!begun && !ended && !urgent);
        size_t free_bytes = 0, total_bytes = 0;
        OK(i, d->memory_info(d, &free_bytes, &total_bytes));
        assert_true(0 < free_bytes && free_bytes <= total_bytes);
    }
    assert_same(&a, "rows copied");
    assert_same(&b, "copied through pinned memory");
    twin_free(&a);
    twin_free(&b);
}

int main(void)
{
    const char *why = NULL;
    int code = 0;
    if (device_cuda_count(&why) == 0) {
        printf("skipped: %s\n", why);
        return 77;
    }
    dev[HOST] = device_host_create(0);
    dev[CUDA] = device_cuda_create(0, &code);
    if (!dev[CUDA]) {
        printf("cannot use the GPU: %s\n", device_cuda_error_text(code));
        return 1;
    }
    printf("%s %s, %d and %d MHz, driver %s\n", dev[CUDA]->name, dev[CUDA]->uuid, dev[CUDA]->sm_clock_mhz,
           dev[CUDA]->mem_clock_mhz, dev[CUDA]->driver);
    ON_BOTH if (dev[i]->stream_create(dev[i], false, &stream[i])) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_and_events), cmocka_unit_test(line_sweeps), cmocka_unit_test(star_sweeps),
        cmocka_unit_test(box_sweeps),        cmocka_unit_test(wide_sweeps), cmocka_unit_test(tall_sweeps),
        cmocka_unit_test(ghosts),            cmocka_unit_test(messages),    cmocka_unit_test(transposes),
        cmocka_unit_test(values_and_reductions),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ON_BOTH {
        if (dev[i]->stream_destroy(dev[i], &stream[i])) return 1;
        device_destroy(&dev[i]);
    }
    return failed ? 1 : 0;
}
