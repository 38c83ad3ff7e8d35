/* Claim: the host's pass gives, bit for bit, the chain of fma that the numerics define, for every form,
 * radius, type and use of prev, in any box of a field of any size, by any of its paths (threads, tiles,
 * streamed stores), and writes no other cell.
 * release: the vectors of -O3 */
#include "support/host_field.h"

#include <math.h>

static double product(dtype t, double w, double u)
{
    return t == DTYPE_F32 ? (double)((float)w * (float)u) : w * u;
}
static double term(dtype t, double w, double u, double sum)
{
    return t == DTYPE_F32 ? (double)fmaf((float)w, (float)u, (float)sum) : fma(w, u, sum);
}

/* The order of the sum, spelt out; the first term is a product. */
static double naive_cell(const stencil *op, const field_shape *f, const void *cur, const void *prev,
                         int64_t x, int64_t y)
{
    double sum = 0;
    int n = 0;
#define U(DX, DY) host_field_get(f->type, cur, field_index(f, x + (DX), y + (DY)))
#define ADD(DX, DY)                                                                      \
    do {                                                                                 \
        const double w = op->weight[n], u = U(DX, DY);                                   \
        sum = n++ == 0 ? product(f->type, w, u) : term(f->type, w, u, sum);              \
    } while (0)
    if (op->form == STENCIL_BOX) {
        for (int dy = -op->radius; dy <= op->radius; dy++)
            for (int dx = -op->radius; dx <= op->radius; dx++) ADD(dx, dy);
    } else {
        for (int k = op->radius; k >= 1; k--) {
            ADD(-k, 0);
            ADD(k, 0);
            if (op->form == STENCIL_STAR) ADD(0, -k);
            if (op->form == STENCIL_STAR) ADD(0, k);
        }
        ADD(0, 0);
    }
#undef ADD
#undef U
    assert_int_equal(n, stencil_weights(op->form, op->radius));
    return op->has_prev ? term(f->type, op->beta, host_field_get(f->type, prev, field_index(f, x, y)), sum)
                        : sum;
}

typedef enum use_of_prev { PREV_NONE, PREV_APART, PREV_IS_NEXT, PREV_USES } use_of_prev;
static int uses_of(int form) { return form == STENCIL_BOX ? PREV_NONE + 1 : PREV_USES; }

static stencil make_stencil(stencil_form form, int radius, dtype t, use_of_prev use, uint64_t *seed)
{
    stencil op = { .form = form, .radius = radius, .type = t, .has_prev = use != PREV_NONE, .beta = -1 };
    for (int k = 0; k < stencil_weights(form, radius); k++) {
        op.weight[k] = host_field_number(seed);
        if (t == DTYPE_F32) op.weight[k] = (double)(float)op.weight[k];
    }
    op.beta = use == PREV_APART ? 0.75 : -1;
    return op;
}

/* Negative zeros, but for one cell in `rarity`, which is +0: a sum of positive multiples of them is -0 only
 * where every term is, and +0 everywhere if it starts from a +0 of its own. */
static void fill_with_zeros(const field_shape *f, void *data, uint64_t seed, int rarity)
{
    for (size_t i = 0; i < f->bytes / dtype_bytes(f->type); i++) {
        const double chance = (host_field_number(&seed) + 1) / 2;
        host_field_set(f->type, data, (int64_t)i, chance * rarity < 1 ? 0.0 : -0.0);
    }
}

typedef enum content { NUMBERS, ZEROS } content;

/* streams > 0: each of `streams` threads computes its own strip, as the streams of a step do. */
static void check(device *d, const stencil *op, use_of_prev use, content fields, int64_t nx, int64_t ny,
                  const box *boxes, int count, int streams)
{
    const field_shape f =
        field_shape_make(op->type, nx, ny, op->radius, op->form == STENCIL_LINE ? 0 : op->radius);
    void *cur = host_field_create(d, &f, 1), *next = host_field_create(d, &f, 2),
         *other = host_field_create(d, &f, 3);
    void *prev = use == PREV_IS_NEXT ? next : other;
    if (fields == ZEROS) {
        const int terms = stencil_weights(op->form, op->radius) + (op->has_prev ? 1 : 0);
        fill_with_zeros(&f, cur, 4, terms); /* so a third of the sums is all -0 */
        if (op->has_prev) fill_with_zeros(&f, prev, 5, terms);
    }
    void *want = host_field_clone(d, &f, next);
    for (int i = 0; i < count; i++)
        for (int64_t y = boxes[i].y0; y < boxes[i].y1; y++)
            for (int64_t x = boxes[i].x0; x < boxes[i].x1; x++)
                host_field_set(f.type, want, field_index(&f, x, y), naive_cell(op, &f, cur, prev, x, y));
    assert_int_equal(d->stencil_bind(d, op), 0);
    const void *given = use == PREV_NONE ? NULL : prev;
    if (streams > 0) {
#pragma omp parallel for num_threads(streams) schedule(static, 1)
        for (int i = 0; i < streams; i++) {
            const box strip = box_strip(boxes[0], i, streams);
            d->stencil_pass(d, &f, next, cur, given, &strip, 1, NULL);
        }
    } else {
        assert_int_equal(d->stencil_pass(d, &f, next, cur, given, boxes, count, NULL), 0);
    }
    assert_memory_equal(next, want, f.bytes);
    host_field_free(d, cur);
    host_field_free(d, next);
    host_field_free(d, other);
    host_field_free(d, want);
}

static const struct {
    int64_t nx, ny;
} sizes[] = { { 1, 1 }, { 1, 9 }, { 19, 1 }, { 64, 3 }, { 67, 11 }, { 129, 2 } };

static void every_operator(bool streams)
{
    device *d = device_host_create(3);
    if (streams) ((device_host *)d)->far_cache_bytes = 0;
    uint64_t seed = 7;
    for (int form = 0; form < STENCIL_FORMS; form++)
        for (int radius = 1; radius <= STENCIL_RADIUS_MAX; radius++)
            for (int t = DTYPE_F32; t <= DTYPE_F64; t++)
                for (int use = PREV_NONE; use < uses_of(form); use++)
                    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                        const stencil op =
                            make_stencil((stencil_form)form, radius, (dtype)t, (use_of_prev)use, &seed);
                        const box all = box_make(0, sizes[i].nx, 0, sizes[i].ny);
                        check(d, &op, (use_of_prev)use, NUMBERS, sizes[i].nx, sizes[i].ny, &all, 1, 0);
                    }
    device_destroy(&d);
}

static void every_operator_with_plain_stores(void **state)
{
    (void)state;
    every_operator(false);
}

static void every_operator_with_streamed_stores(void **state)
{
    (void)state;
    every_operator(true);
}

static void boxes_inside_and_empty(void **state)
{
    (void)state;
    device *d = device_host_create(2);
    uint64_t seed = 9;
    for (int form = 0; form < STENCIL_FORMS; form++)
        for (int use = PREV_NONE; use < uses_of(form); use++)
            for (int streams = 0; streams < 2; streams++) {
                if (streams) ((device_host *)d)->far_cache_bytes = 0;
                const stencil op = make_stencil((stencil_form)form, 2, DTYPE_F64, (use_of_prev)use, &seed);
                const box odd[4] = {
                    { 3, 90, 1, 4 }, { 5, 6, 5, 30 }, { 40, 40, 0, 30 }, { 94, 101, 7, 31 }
                };
                check(d, &op, (use_of_prev)use, NUMBERS, 101, 31, odd, 4, 0);
                box shell[4];
                const int count = box_shell(box_make(0, 101, 0, 31), box_make(2, 99, 2, 29), shell);
                check(d, &op, (use_of_prev)use, NUMBERS, 101, 31, shell, count, 0);
            }
    device_destroy(&d);
}

/* Large enough for a team of threads, with caches so small that the row is cut into tiles. */
static void teams_tiles_and_streams(void **state)
{
    (void)state;
    device *d = device_host_create(3);
    device_host *h = (device_host *)d;
    uint64_t seed = 11;
    const struct {
        int64_t nx, ny;
    } large[] = { { 1301, 40 }, { 2, 9001 }, { 20011, 1 }, { 6007, 3 } };
    for (int form = 0; form < STENCIL_FORMS; form++)
        for (int use = PREV_NONE; use < uses_of(form); use++)
            for (int streams = 0; streams < 2; streams++)
                for (size_t i = 0; i < sizeof large / sizeof *large; i++)
                    for (int t = DTYPE_F32; t <= DTYPE_F64; t++) {
                        h->near_cache_bytes = 1;
                        h->far_cache_bytes = streams ? 0 : SIZE_MAX;
                        const stencil op =
                            make_stencil((stencil_form)form, 3, (dtype)t, (use_of_prev)use, &seed);
                        const box all = box_make(0, large[i].nx, 0, large[i].ny);
                        check(d, &op, (use_of_prev)use, NUMBERS, large[i].nx, large[i].ny, &all, 1, 0);
                        check(d, &op, (use_of_prev)use, NUMBERS, large[i].nx, large[i].ny, &all, 1, 4);
                    }
    device_destroy(&d);
}

/* The first term is a product and not added to 0: the sign of a sum of zeros tells. */
static void sums_of_zeros_keep_their_sign(void **state)
{
    (void)state;
    device *d = device_host_create(3);
    device_host *h = (device_host *)d;
    uint64_t seed = 13;
    for (int form = 0; form < STENCIL_FORMS; form++)
        for (int radius = 1; radius <= STENCIL_RADIUS_MAX; radius++)
            for (int t = DTYPE_F32; t <= DTYPE_F64; t++)
                for (int use = PREV_NONE; use < uses_of(form); use++)
                    for (int streams = 0; streams < 2; streams++) {
                        h->far_cache_bytes = streams ? 0 : SIZE_MAX;
                        stencil op =
                            make_stencil((stencil_form)form, radius, (dtype)t, (use_of_prev)use, &seed);
                        for (int k = 0; k < stencil_weights(op.form, radius); k++)
                            op.weight[k] = fabs(op.weight[k]);
                        op.beta = 0.75;
                        const box all = box_make(0, 131, 0, 19);
                        check(d, &op, (use_of_prev)use, ZEROS, 131, 19, &all, 1, 0);
                        check(d, &op, (use_of_prev)use, ZEROS, 131, 19, &all, 1, 4);
                    }
    device_destroy(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operator_with_plain_stores),
        cmocka_unit_test(every_operator_with_streamed_stores),
        cmocka_unit_test(boxes_inside_and_empty),
        cmocka_unit_test(teams_tiles_and_streams),
        cmocka_unit_test(sums_of_zeros_keep_their_sign),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
