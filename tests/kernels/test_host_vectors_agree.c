/* A row has the same bits by vectors of every kind that this processor has, and stays within its cells. */
#include <stdlib.h>

#include "support/host_field.h"

/* Vectors that the rows below may use: 0 a cell, 1 AVX2, 2 AVX-512. */
static int kind;
static int own_kind(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512f")
               ? 2
               : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return 0;
#endif
}
static inline int may_use(const char *name) { return kind >= (name[3] == '5' ? 2 : 1); }
#define __builtin_cpu_supports(NAME) may_use(NAME)
#define stencil_host_rows rows_of_kind
#include "stencil/stencil_host_rows.c"

enum { ROWS = 3, PITCH = 512, ROOM = ROWS + 2 * STENCIL_RADIUS_MAX + 2, CELLS = ROOM * PITCH };

static void *random_cells(dtype t, int count)
{
    void *const cells = aligned_alloc(128, (size_t)CELLS * sizeof(double));
    assert_non_null(cells);
    for (int i = 0; i < count; i++) host_field_set(t, cells, i, rand() / (double)RAND_MAX - 0.5);
    return cells;
}

static void same_bits(dtype t, stencil_form form, int radius, bool has_prev)
{
    const size_t cell = dtype_bytes(t);
    const int beside = form == STENCIL_LINE ? 0 : radius, margin = 64;
    char *const cur = random_cells(t, CELLS), *const prev = random_cells(t, CELLS),
                *const weight = random_cells(t, 300);
    char *const sum[2] = { random_cells(t, CELLS), random_cells(t, CELLS) };
    const void *row[ROOM];
    for (int y = 0; y < ROWS + 2 * beside; y++) row[y] = cur + (size_t)((y + 1) * PITCH + margin) * cell;
    for (int trial = 0; trial < 12; trial++) {
        const int64_t first = trial % 4 == 0 ? 0 : rand() % (DEVICE_HOST_LINE_BYTES / (int)cell);
        stencil_host_row job = { .row = row,
                                 .before = has_prev ? prev + (size_t)(PITCH + margin) * cell : NULL,
                                 .weight = weight,
                                 .beta = 0.7,
                                 .first = first,
                                 .cells = first + 1 + rand() % 300,
                                 .pitch = PITCH,
                                 .rows = trial % 3 == 0 ? 1 : ROWS,
                                 .radius = radius,
                                 .streams = trial % 2 == 0 };
        for (int k = 0; k <= own_kind(); k++) {
            char *const to = sum[k > 0];
            memset(to, 0x55, (size_t)CELLS * cell);
            job.sum = to + (size_t)(PITCH + margin) * cell;
            kind = k;
            rows_of_kind(t, form)(&job);
            device_host_stream_end();
            if (k > 0) assert_memory_equal(sum[0], to, (size_t)CELLS * cell);
        }
    }
    free(cur), free(prev), free(weight), free(sum[0]), free(sum[1]);
}

static void every_form_and_radius(void **state)
{
    if (own_kind() == 0) skip();
    srand(7);
    for (int t = 0; t < 2; t++)
        for (int form = 0; form < STENCIL_FORMS; form++)
            for (int r = 1; r <= STENCIL_RADIUS_MAX; r++)
                for (int prev = 0; prev < (form == STENCIL_BOX ? 1 : 2); prev++)
                    same_bits((dtype)t, (stencil_form)form, r, prev);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_form_and_radius) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
