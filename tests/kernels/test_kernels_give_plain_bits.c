/* Claim: kernels of single steps, ghosts, messages, transposes, values, reductions, patterns and copies give,
 * bit for bit, what the plainest loops over cells give, and write nothing else: whole allocations are
 * compared, padding and ghosts included. Without a GPU the host's are tested (support/plain_device.h has the
 * answers) by one thread and by several, on tiles of any size, with plain stores and with streamed ones, by
 * vectors of every kind that the processor has; with a GPU CUDA's, against the host's. gpus: part
 * release: the vectors of -O3 */
/* libweft takes the rows of steps from here, where each tile chooses the next kind of vector. */
static _Atomic unsigned tile;
#define __builtin_cpu_supports(NAME) (tile++ % 7 != 0 && __builtin_cpu_supports(NAME))
#include "stencil/stencil_host_rows.c"
#undef __builtin_cpu_supports

#include "support/plain_device.h"
#include "support/sanitized.h"
#include "support/twin.h"

static bool gpu; /* is it tested? */

/* ---- steps ---- */

static field_shape shape_of(const stencil *op, int64_t nx, int64_t ny, int extra_depth)
{
    const int depth = op->radius + extra_depth;
    return field_shape_make(op->type, nx, ny, depth, ny == 1 && op->form == STENCIL_LINE ? 0 : depth);
}

static void pass(const stencil *op, const field_shape *f, const twin *next, const twin *cur, const twin *prev,
                 const box *boxes, int count)
{
    ON_BOTH {
        const stencil_levels levels = { next->at[i], cur->at[i], prev->at[i] };
        DO(i, stencil_pass, f, levels, boxes, count, NULL, stream[i]);
    }
    assert_same(next, "%s r=%d %s prev=%d %lldx%lld, %d boxes", stencil_form_name(op->form), op->radius,
                dtype_name(op->type), op->has_prev, (long long)f->nx, (long long)f->ny, count);
}

/* The whole; the shell in place, next is prev; ragged columns, an empty box between them, a single cell. */
static void pass_case(const stencil *op, int64_t nx, int64_t ny, int extra_depth)
{
    const field_shape f = shape_of(op, nx, ny, extra_depth);
    twin cur = twin_random(f.type, f.bytes), prev = twin_random(f.type, f.bytes),
         next = twin_random(f.type, f.bytes);
    const box all = field_own(&f), inner = box_make(nx / 3, nx - nx / 4, ny / 4, ny - ny / 3);
    box shell[STENCIL_BOXES_MAX];
    const int count = box_shell(all, inner, shell);
    const box odd[] = { { 0, (nx + 2) / 3, 0, ny }, { 3, 3, 0, ny }, { nx - 1, nx, ny / 2, ny },
                        { nx / 2 + 1, nx / 2 + 2, ny / 3, ny / 3 + 1 } };
    pass(op, &f, &next, &cur, &prev, &all, 1);
    pass(op, &f, &prev, &next, &prev, shell, count);
    pass(op, &f, &cur, &prev, &next, odd, nx > 4 ? 4 : 2);
    twin_free(&cur);
    twin_free(&prev);
    twin_free(&next);
}

/* Calls what(op, turn) for a stencil of every form, radius, type and number of levels. */
static void every_operator(void (*what)(stencil *op, int turn))
{
    int turn = 0;
    for (stencil_form form = STENCIL_LINE; form <= STENCIL_BOX; form++)
        for (int radius = 1; radius <= STENCIL_RADIUS_MAX; radius++)
            for (dtype type = DTYPE_F32; type <= DTYPE_F64; type++)
                for (int levels = 1; levels <= (form == STENCIL_BOX ? 1 : 2); levels++, turn++) {
                    stencil op = bind_random(form, radius, type, levels == 1 ? 0 : turn % 2 ? -1 : 0.75);
                    what(&op, turn);
                }
}

/* Large fields have a team of threads and several tiles of a row; on the host one radius is enough. */
static void passes_of(stencil *op, int turn)
{
    static const int64_t sizes[][2] = { { 1, 1 },   { 1, 9 },    { 5, 1 },    { 7, 5 },     { 19, 1 },
                                        { 33, 9 },  { 64, 3 },   { 67, 11 },  { 129, 2 },   { 129, 65 },
                                        { 1000, 1 }, { 1301, 40 }, { 2, 9001 }, { 20011, 1 }, { 6007, 3 } };
    for (size_t k = SANITIZED ? (size_t)turn % 3 : 0; k < sizeof sizes / sizeof *sizes; k += SANITIZED ? 3 : 1)
        if (gpu || op->radius == 3 || sizes[k][0] * sizes[k][1] < 2000)
            pass_case(op, sizes[k][0], sizes[k][1], k % 2 ? 3 : 0);
}

static void passes(void **state) { every_operator(passes_of); }

/* Fields of -0, but for one cell in as many as a sum has terms: a sum of positive multiples of them is -0
 * only where every term is, and +0 everywhere if it starts from a +0 of its own. */
static void zeros_of(stencil *op, int turn)
{
    const int n = stencil_weights(op->form, op->radius);
    const field_shape f = shape_of(op, 131, 19, 0);
    void *zeros = calloc(1, f.bytes);
    assert_non_null(zeros);
    for (int64_t k = 0; k < (int64_t)(f.bytes / dtype_bytes(f.type)); k++)
        cell_set(f.type, zeros, k, random_below(n + op->has_prev) == 0 ? 0.0 : -0.0);
    for (int k = 0; k < n; k++) op->weight[k] = fabs(op->weight[k]);
    op->beta = op->has_prev ? 0.75 : 0;
    twin cur = twin_of(zeros, f.bytes), next = twin_random(f.type, f.bytes);
    const box all = field_own(&f);
    ON_BOTH DO(i, stencil_bind, op);
    pass(op, &f, &next, &cur, &cur, &all, 1);
    free(zeros);
    twin_free(&cur);
    twin_free(&next);
}

static void sums_of_zeros_keep_their_sign(void **state) { every_operator(zeros_of); }

/* So wide that tiles of CUDA go in more than one band of columns; so tall that the GPU is full without
 * cutting the tiles' height: their rows pass through the ring many times. Tiles of other heights and in other
 * orders, with enough cells that tiles are cut to no less than they ask for. */
static void wide_and_tall_passes_of(stencil *op, int turn)
{
    const int r = op->radius;
    if (op->form == STENCIL_STAR && r == 1) pass_case(op, 70001, 35, 0);
    if (op->form == STENCIL_BOX ? r > 1 && r < 6 : op->form == STENCIL_STAR && turn % 3 == 0)
        pass_case(op, 37, 132007, 0);
    for (int v = 1; v < dev[TESTED]->stencil_variants.count; v++) {
        if (r % 2 && r > 1) continue;
        dev[TESTED]->stencil_variants.chosen = v;
        pass_case(op, 1030, 4111, 0);
        pass_case(op, 129, 65, 1);
    }
}

static void wide_and_tall_passes(void **state)
{
    if (!gpu) skip();
    every_operator(wide_and_tall_passes_of);
}

/* ---- ghosts ---- */

/* Sides of every kind along both axes; also ghosts deeper than the axis is long, enough of them for a team,
 * and 1D. */
static void ghosts(void **state)
{
    static const boundary_kind kinds[] = { BOUNDARY_NONE, BOUNDARY_DIRICHLET, BOUNDARY_NEUMANN,
                                           BOUNDARY_PERIODIC };
    for (int k = 0; k < (SANITIZED ? 500 : 2000); k++) {
        const dtype type = (dtype)(k % 2);
        const int64_t nx = 1 + random_below(k % 8 ? 40 : 3000), ny = k % 5 ? 1 + random_below(12) : 1;
        const int depth_x = 1 + (int)random_below(8), depth_y = k % 10 ? 1 + (int)random_below(8) : 0;
        const field_shape f = field_shape_make(type, nx, ny, depth_x, depth_y);
        boundary_kind kind[4]; /* low and high, along x and along y */
        for (int i = 0; i < 4; i++) kind[i] = kinds[random_below(i % 2 ? 3 : 4)];
        for (int i = 0; i < 4; i += 2)
            if (kind[i] == BOUNDARY_PERIODIC) kind[i + 1] = BOUNDARY_PERIODIC;
        const boundary b = { { kind[0], 0.1 }, { kind[1], -2.3 }, { kind[2], 1.3 }, { kind[3], 0.0 } };
        twin field = twin_random(type, f.bytes);
        ON_BOTH host_field_fill_ghosts(dev[i], &f, field.at[i], &b, depth_x + depth_y, stream[i]);
        assert_same(&field, "ghosts %s %lldx%lld depth %d,%d sides %d%d %d%d", dtype_name(type),
                    (long long)nx, (long long)ny, depth_x, depth_y, (int)kind[0], (int)kind[1], (int)kind[2],
                    (int)kind[3]);
        twin_free(&field);
    }
}

/* ---- messages ---- */

static void messages(void **state)
{
    for (int k = 0; k < (SANITIZED ? 50 : 200); k++) {
        const dtype type = k % 2 ? DTYPE_F64 : DTYPE_F32;
        const field_shape f = field_shape_make(type, 1 + random_below(700), 1 + random_below(60), 8, 8);
        pack_piece pieces[PACK_PIECES_MAX];
        const int count = 1 + (int)random_below(PACK_PIECES_MAX);
        int64_t cells = random_below(4);
        /* bands of rows, of which no two meet; every third on whole lines */
        for (int p = 0; p < count; p++) {
            const int64_t low = -8 + (f.ny + 16) * p / count, high = -8 + (f.ny + 16) * (p + 1) / count;
            const int64_t x0 = p % 3 ? random_below(f.nx + 16) - 8 : 0;
            const int64_t x1 = p % 3 ? x0 + random_below(f.nx + 9 - x0) : f.nx & ~31;
            pieces[p] = (pack_piece){ box_make(x0, x1, low, high), cells };
            cells += box_cells(pieces[p].cells) + (p % 2 ? random_below(3) : 0);
            if (p % 3 == 2) cells = (cells + 31) & ~31; /* the next one may move as vectors */
        }
        twin field = twin_random(type, f.bytes), stored = twin_random(type, f.bytes),
             added = twin_random(type, f.bytes),
             packed = twin_random(type, (size_t)(cells + 5) * dtype_bytes(type));
        ON_BOTH {
            DO(i, pack, &f, field.at[i], packed.at[i], pieces, count, stream[i]);
            DO(i, unpack, &f, stored.at[i], packed.at[i], pieces, count, UNPACK_STORE, stream[i]);
            DO(i, unpack, &f, added.at[i], packed.at[i], pieces, count, UNPACK_ADD, stream[i]);
        }
        twin *all[] = { &field, &packed, &stored, &added };
        for (int n = 0; n < 4; n++) {
            assert_same(all[n], "field, buffer, stored or added: %d, case %d", n, k);
            twin_free(all[n]);
        }
    }
}

/* ---- transposes; flags: 1, which no caller gives, stands for 0 ---- */

static void transpose_case(dtype type, int64_t rows, int64_t cols, int64_t to_pitch, int64_t from_pitch,
                           int to_skip, int from_skip, int flags)
{
    const size_t cell = dtype_bytes(type);
    twin to = twin_random(type, (size_t)(to_pitch * cols + to_skip) * cell);
    twin from = twin_random(type, (size_t)(from_pitch * rows + from_skip) * cell);
    ON_BOTH {
        const matrix a = { (char *)to.at[i] + (size_t)to_skip * cell, to_pitch },
                     b = { (char *)from.at[i] + (size_t)from_skip * cell, from_pitch };
        DO(i, transpose, type, a, b, rows, cols, flags == 1 ? 0 : flags, stream[i]);
    }
    twin *both[] = { &to, &from };
    for (int k = 0; k < 2; k++) {
        assert_same(both[k], "%s, %lldx%lld pitches %lld %lld flags %d", k ? "source" : "target",
                    (long long)rows, (long long)cols, (long long)to_pitch, (long long)from_pitch, flags);
        twin_free(both[k]);
    }
}

/* A cell, a few, a tile, or several; dense and padded, on whole vectors and at any phase of both matrices;
 * and long ones, which the host cuts into bands. */
static void transposes(void **state)
{
    static const int64_t most[] = { 1, 9, 70, 320 };
    for (int k = 0; k < (SANITIZED ? 200 : 800); k++) {
        const int64_t rows = 1 + random_below(most[random_below(4)]),
                      cols = 1 + random_below(most[random_below(4)]);
        const int64_t line = k / 32 % 2 ? 4 << random_below(4) : 1, phase = line == 1 ? 5 : 1;
        transpose_case((dtype)(k % 2), rows, cols, (rows + random_below(20) + line - 1) & -line,
                       (cols + random_below(20) + line - 1) & -line, (int)random_below(phase),
                       (int)random_below(phase), k / 2 % 4);
    }
    for (int k = 0; k < 8; k++) {
        const dtype type = (dtype)(k / 4);
        transpose_case(type, 40009, 2, 40010, 3, 0, 0, k % 4);
        transpose_case(type, 1, 40009, 1, 40009, 0, 0, k % 4);
        if (!SANITIZED || k % 4 == 2 + (int)type) transpose_case(type, 643, 4096, 643, 4096, 0, 0, k % 4);
    }
}

/* Rows a multiple of 128 KiB apart, whose tile columns go in 2, 4 and 8 streams on CUDA; more tile columns
 * than a grid is high. */
static void transposes_of_long_rows(void **state)
{
    if (!gpu) skip();
    for (dtype type = DTYPE_F32; type <= DTYPE_F64; type++)
        for (int flags = 0; flags < 4; flags++) {
            const int64_t pitch = (1 << 17) / (int64_t)dtype_bytes(type);
            for (int64_t k = 1; k <= 8; k += k < 4 ? 1 : 4) {
                transpose_case(type, 5, 1090, 8, k * pitch, 0, 0, flags); /* tile columns: no multiple of 4 */
                transpose_case(type, 8, pitch, 8, k * pitch, 0, 0, flags);
            }
            transpose_case(type, 2, 8400007, 8, 8400032, 0, 0, flags);
        }
}

/* ---- values and reductions ---- */

/* Norms of a against the value and against b, in a box, and the fingerprint of a as a part of a whole. */
static void reductions_case(const field_shape *f, const twin *a, const twin *b, const value v[DEVICES],
                            box cells, int k)
{
    static const uint64_t before[3] = { 9, 9, 9 };
    twin result = twin_of(before, sizeof before);
    ON_BOTH {
        uint64_t *to = result.at[i];
        DO(i, max_error, f, a->at[i], &v[i], cells, to, stream[i]);
        DO(i, max_change, f, a->at[i], b->at[i], cells, to + 1, stream[i]);
        DO(i, fingerprint, f, a->at[i], 1000003, 17, 5, to + 2, stream[i]);
    }
    assert_same(&result, "norms and fingerprint, %s %lldx%lld, case %d", dtype_name(f->type),
                (long long)f->nx, (long long)f->ny, k);
    twin_free(&result);
}

/* Then what is planted into any cell is found there; an infinity does not hide a NaN. */
static void values_and_reductions(void **state)
{
    static const int64_t widths[] = { 19, 41, 400, 1300 }, heights[] = { 1, 7, 200 };
    static const double odd[] = { -0.5, 3.0, INFINITY, NAN, -NAN };
    twin tables = twin_random(DTYPE_F64, 4096 * sizeof(double));
    for (int k = 0; k < 96; k += SANITIZED ? 5 : 1) {
        const dtype type = k % 2 ? DTYPE_F64 : DTYPE_F32;
        const field_shape f = field_shape_make(type, widths[k / 2 % 4], heights[k / 8 % 3], 2, 2);
        const box part = box_make(f.nx / 5, f.nx - f.nx / 7, f.ny / 6, f.ny),
                  filled = k % 5 ? part : box_make(-2, f.nx + 2, -2, f.ny + 2);
        const int kind = k % 3, bits = k / 24 % 2 ? 4 : 0;
        twin a = twin_random(type, f.bytes), b = twin_random(type, f.bytes);
        value v[DEVICES]; /* the tables of a value live on its device: stretches of these numbers */
        ON_BOTH {
            const double *t = tables.at[i];
            const value_axis x = { t, t + 512, 3 >> bits, bits, VALUE_COMPLEX },
                             y = { t + 700, t + 900, 0, bits, VALUE_IMAGINARY_PART };
            v[i] = (value){ (value_kind)kind, 1320, 260, 5, 11, x, y, 0.7, -0.4, 0.1, 12345, t, k / 48 };
            DO(i, value_fill, &f, a.at[i], &v[i], filled, stream[i]);
        }
        assert_same(&a, "value_fill kind %d, case %d", kind, k);
        reductions_case(&f, &a, &b, v, part, k);
        reductions_case(&f, &a, &b, v, box_make(5, 5, 0, 1), k);
        for (int n = 0; n < 20; n += SANITIZED ? 3 : 2) {
            const size_t bytes = dtype_bytes(type),
                         at = (size_t)field_index(&f, random_below(f.nx), random_below(f.ny)) * bytes;
            char number[sizeof(double)];
            reductions_case(&f, &a, &b, v, field_own(&f), k);
            cell_set(type, number, 0, odd[n < 8 ? n % 2 : n % 5]);
            ON_BOTH put(i, (char *)a.at[i] + at, number, bytes);
        }
        twin_free(&a);
        twin_free(&b);
    }
    twin_free(&tables);
}

/* ---- memory patterns, whole and with a flipped bit ---- */

static void patterns(void **state)
{
    twin memory = twin_random(DTYPE_F64, 8 * 70002), result = twin_random(DTYPE_F64, sizeof(pattern_wrong));
    for (int k = 0; k < 48; k++) {
        const int64_t words = k < 4 ? 2 * k : 70000 - 2 * k, at = random_below(words + 1);
        const memory_pattern p = {
            .seed = 5, .first = (uint64_t)k << 33, .flip = k % 2 ? ~0ull : 0, .walking = k % 3 == 2
        };
        ON_BOTH DO(i, pattern_write, memory.at[i], words, &p, stream[i]);
        assert_same(&memory, "pattern_write, case %d", k);
        for (uint64_t flipped = 0; flipped < 2 && at < words; flipped++) {
            const uint64_t word =
                ((const uint64_t *)memory.at[ANSWER])[at] ^ flipped << (k * 11 % 64);
            ON_BOTH put(i, (uint64_t *)memory.at[i] + at, &word, sizeof word);
            ON_BOTH DO(i, pattern_check, memory.at[i], words, &p, result.at[i], stream[i]);
            assert_same(&result, "pattern_check of %lld words", (long long)words);
            assert_true(((const pattern_wrong *)result.at[ANSWER])->words == flipped);
        }
    }
    twin_free(&memory);
    twin_free(&result);
}

/* ---- memory and copies ---- */

static void memory_is_aligned(void **state)
{
    const size_t sizes_bytes[] = { 0, 1, 127, 4096, (size_t)3 << 20 };
    device *d = dev[TESTED];
    size_t free_bytes = 0, total_bytes = 0;
    for (int i = 0; i < 10; i++) {
        const device_memory where = i % 2 ? DEVICE_MEMORY_PINNED : DEVICE_MEMORY_DEVICE;
        void *p = NULL;
        DO(TESTED, alloc, where, sizes_bytes[i / 2], &p);
        assert_true((p || gpu) && (uintptr_t)p % FIELD_ALIGN_BYTES == 0);
        DO(TESTED, free, where, p);
    }
    void *none = &none;
    const int code = d->alloc(d, DEVICE_MEMORY_DEVICE, SIZE_MAX - 4096, &none);
    assert_true(code != 0 && !none && strlen(d->error_text(code)) > 0 && strlen(d->name) > 0);
    DO(TESTED, memory_info, &free_bytes, &total_bytes);
    assert_true(0 < free_bytes && free_bytes <= total_bytes);
}

/* Ends of every alignment, from below a cache line to a team's share. */
static void copies_move_every_byte(void **state)
{
    static const size_t lengths_bytes[] = { 0, 1, 63, 64, 65, 1000, 300001 };
    twin from = twin_random(DTYPE_F32, 400000), to = twin_random(DTYPE_F32, 400000);
    for (size_t k = 0; k < sizeof lengths_bytes / sizeof *lengths_bytes; k++)
        for (size_t shift = 0; shift < 70; shift += 23) {
            ON_BOTH DO(i, copy, (char *)to.at[i] + 100 + shift, (char *)from.at[i] + 2 * shift,
                       lengths_bytes[k], stream[i]);
            assert_same(&to, "copy of %zu bytes", lengths_bytes[k]);
        }
    ON_BOTH DO(i, copy_rows, (char *)to.at[i] + 3, 1001, from.at[i], 1100, 997, 301, stream[i]);
    assert_same(&to, "rows copied");
    ON_BOTH DO(i, fill_bytes, (char *)to.at[i] + 30001, 0xa5, 277777, stream[i]);
    assert_same(&to, "bytes filled");
    twin_free(&from);
    twin_free(&to);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_aligned),    cmocka_unit_test(copies_move_every_byte),
        cmocka_unit_test(passes),               cmocka_unit_test(sums_of_zeros_keep_their_sign),
        cmocka_unit_test(wide_and_tall_passes), cmocka_unit_test(ghosts),
        cmocka_unit_test(messages),             cmocka_unit_test(transposes),
        cmocka_unit_test(transposes_of_long_rows), cmocka_unit_test(values_and_reductions),
        cmocka_unit_test(patterns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* A host device whose tiles are as small as can be. */
static device *host_of(int threads, size_t far_cache_bytes)
{
    device *d = device_host_create(threads);
    ((device_host *)d)->near_cache_bytes = 1;
    ((device_host *)d)->far_cache_bytes = far_cache_bytes;
    return d;
}

int main(void)
{
    const char *why = NULL;
    device *cuda = twin_gpu(&why);
    gpu = cuda != NULL;
    if (gpu) return twin_run(device_host_create(0), cuda, run);
    printf("the host: %s\n", why);
    return twin_run(plain_device_create(), device_host_create(1), run) ||
           (!SANITIZED && twin_run(plain_device_create(), host_of(3, SIZE_MAX), run)) ||
           twin_run(plain_device_create(), host_of(3, 0), run);
}
