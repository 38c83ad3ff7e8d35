/* Messages, transposes, values, reductions, memory patterns and copies give on CUDA, from the same input, the
 * bits that they give on the host, and write nothing else: whole allocations are compared, padding and ghosts
 * included. gpus: part */
#include "support/cuda_twin.h"

#include "core/pattern.h"

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
        /* bands of rows, of which no two meet; every third on whole lines */
        for (int p = 0; p < count; p++) {
            const int64_t low = -8 + (f.ny + 16) * p / count, high = -8 + (f.ny + 16) * (p + 1) / count;
            const int64_t x0 = p % 3 ? random_below(f.nx + 16) - 8 : 0;
            const int64_t x1 = p % 3 ? x0 + random_below(f.nx + 9 - x0) : f.nx & ~31;
            pieces[p] = (pack_piece){ box_make(x0, x1, low, high), cells };
            cells += box_cells(pieces[p].cells) + (p % 2 ? random_below(3) : 0);
            if (p % 3 == 2) cells = (cells + 31) & ~31; /* the next one may move as vectors */
        }
        twin field = twin_random(type, f.bytes),
             packed = twin_random(type, (size_t)(cells + 5) * dtype_bytes(type));
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

static void transpose_case(dtype type, int64_t rows, int64_t cols, int64_t to_pitch, int64_t from_pitch,
                           int to_skip, int from_skip, int flags)
{
    const size_t cell = dtype_bytes(type);
    twin to = twin_random(type, (size_t)(to_pitch * cols + to_skip) * cell);
    twin from = twin_random(type, (size_t)(from_pitch * rows + from_skip) * cell);
    ON_BOTH OK(i, dev[i]->transpose(dev[i], type, (char *)to.at[i] + (size_t)to_skip * cell, to_pitch,
                                    (char *)from.at[i] + (size_t)from_skip * cell, from_pitch, rows, cols,
                                    flags, stream[i]));
    assert_same(&to, "target, %lldx%lld pitches %lld %lld flags %d", (long long)rows, (long long)cols,
                (long long)to_pitch, (long long)from_pitch, flags);
    assert_same(&from, "source, %lldx%lld pitches %lld %lld flags %d", (long long)rows, (long long)cols,
                (long long)to_pitch, (long long)from_pitch, flags);
    twin_free(&to);
    twin_free(&from);
}

/* Dense and padded, on whole vectors and at every other phase of both matrices. */
static void transposes(void **state)
{
    (void)state;
    static const int64_t shapes[][2] = { { 1, 1 },    { 1, 40 },    { 5, 7 },     { 33, 65 },
                                         { 64, 64 },  { 1000, 37 }, { 100, 257 }, { 128, 192 },
                                         { 61, 130 }, { 3, 515 },   { 259, 66 } };
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        for (int flags = 0; flags < 4; flags++)
            for (dtype type = DTYPE_F32; type <= DTYPE_F64; type++) {
                const int64_t rows = shapes[k][0], cols = shapes[k][1], step = (int64_t)k;
                transpose_case(type, rows, cols, rows, cols, 0, 0, flags);
                transpose_case(type, rows, cols, rows + 3, cols + step, 0, 0, flags);
                transpose_case(type, rows, cols, (rows + 7) & ~(int64_t)3, (cols + 3) & ~(int64_t)3, 0, 0,
                               flags);
                transpose_case(type, rows, cols, (rows + 7) & ~(int64_t)7, (cols + 7) & ~(int64_t)7, 0, 0,
                               flags);
                for (int skip = 0; skip < 16; skip++)
                    transpose_case(type, rows, cols, rows + step % 4, cols + skip % 3, skip & 3, skip >> 2,
                                   flags);
            }
}

/* Rows a multiple of 128 KiB apart, whose tile columns go in 2, 4 and 8 streams; more tile columns than a
 * grid is high. */
static void transposes_of_long_rows(void **state)
{
    (void)state;
    for (dtype type = DTYPE_F32; type <= DTYPE_F64; type++)
        for (int flags = 0; flags < 4; flags++) {
            const int64_t pitch = (1 << 17) / (int64_t)dtype_bytes(type);
            for (int64_t k = 1; k <= 8; k += k < 4 ? 1 : 4) {
                transpose_case(type, 5, 1090, 8, k * pitch, 0, 0, flags); /* tile columns: no multiple of 4 */
                transpose_case(type, 8, pitch, 8, k * pitch, 0, 0, flags);
            }
            if (flags == 0 || flags == 3) transpose_case(type, 2, 8400007, 8, 8400032, 0, 0, flags);
        }
}

/* ---- values and reductions ---- */

/* The tables of a value live on its device: one value per device. */
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
        ON_BOTH OK(i, dev[i]->max_change(dev[i], &f, a.at[i], b.at[i], box_make(5, 5, 0, 1), result.at[i],
                                         stream[i]));
        assert_same(&result, "max_change of no cells, case %d", k);
        twin_free(&a);
        twin_free(&b);
    }
    twin_free(&tables);
    twin_free(&result);
}

static void patterns(void **state)
{
    (void)state;
    twin memory = twin_random(DTYPE_F64, 8 * 100002), result = twin_random(DTYPE_F64, sizeof(pattern_wrong));
    for (int k = 0; k < 24; k++) {
        const memory_pattern p = {
            .seed = 5, .first = (uint64_t)k << 33, .flip = k % 2 ? ~0ull : 0, .walking = k % 3 == 2
        };
        const int64_t words = k < 4 ? 2 * k : 100000 - 2 * k, at = words / 3;
        ON_BOTH OK(i, dev[i]->pattern_write(dev[i], memory.at[i], words, &p, stream[i]));
        assert_same(&memory, "pattern_write, case %d", k);
        ON_BOTH OK(i, dev[i]->pattern_check(dev[i], memory.at[i], words, &p, result.at[i], stream[i]));
        assert_same(&result, "pattern_check, case %d", k);
        assert_int_equal(((const pattern_wrong *)result.at[HOST])->words, 0);
        if (words == 0) continue;
        const uint64_t wrong = pattern_word(&p, at) ^ (uint64_t)1 << (k * 11 % 64);
        ON_BOTH OK(i, dev[i]->copy(dev[i], (uint64_t *)memory.at[i] + at, &wrong, sizeof wrong, stream[i]));
        const size_t behind = k % 4 ? 0 : 8 * (size_t)(words - at - 1);
        ON_BOTH OK(i, dev[i]->fill_bytes(dev[i], (uint64_t *)memory.at[i] + at + 1, 0, behind, stream[i]));
        ON_BOTH OK(i, dev[i]->pattern_check(dev[i], memory.at[i], words, &p, result.at[i], stream[i]));
        assert_same(&result, "pattern_check of wrong words, case %d", k);
        assert_true(((const pattern_wrong *)result.at[HOST])->words >= 1);
    }
    twin_free(&memory);
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

static int run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_and_events),
        cmocka_unit_test(messages),
        cmocka_unit_test(transposes),
        cmocka_unit_test(transposes_of_long_rows),
        cmocka_unit_test(values_and_reductions),
        cmocka_unit_test(patterns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) { return twin_main(run); }
