/* A state written by one process grid is read to the same bits by every other one, 1D and 2D, f32 and f64,
 * any split. ranks: 1 2 3 4
 * release: three times as many cases */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "state/checkpoint.h"
#include "support/checkpoint_fixture.h"
#include "support/sanitized.h"
#include "writer/checkpoint_write.h"

typedef struct layout {
    int64_t nx, ny;
    const char *second; /* name of the second field, NULL: one field; "b" is transposed */
} layout;

static const layout layouts[] = {
    { 1, 1, NULL }, { 3, 1, NULL }, { 1009, 1, "u_prev" }, { 64, 48, NULL }, { 37, 53, "u_prev" },
    { 5, 2, NULL }, { 41, 19, "b" }, { 1, 7, NULL },
};
static char folder[FIXTURE_PATH_BYTES];

/* The g-th way to cut nx x ny among the ranks: columns, rows, and where there is one, a grid of both. */
static checkpoint_field cut(int g, const char *name, int64_t nx, int64_t ny, dtype type, MPI_Comm comm)
{
    const int ranks = fixture_ranks(comm), columns = g == 1 ? 1 : g == 0 || ranks % 2 ? ranks : 2;
    return fixture_cut(name, nx, ny, columns, ranks / columns, fixture_rank(comm), type);
}

static checkpoint_state make(const layout *l, dtype type, int g, MPI_Comm comm)
{
    const bool transposed = l->second && strcmp(l->second, "b") == 0;
    checkpoint_state s = { .kind = transposed ? "transpose" : "wave",
                           .type = type,
                           .step = 1234567890123,
                           .deck = "[grid]\nnx = 37\n# \xc3\xa9\n",
                           .fields = l->second ? 2 : 1,
                           .version = "1.2" };
    s.field[0] = cut(g, transposed ? "a" : "u", l->nx, l->ny, type, comm);
    if (l->second) {
        const int64_t nx = transposed ? l->ny : l->nx, ny = transposed ? l->nx : l->ny;
        s.field[1] = cut(g, l->second, nx, ny, type, comm);
    }
    return s;
}

static void drop(checkpoint_state *s)
{
    for (int i = 0; i < s->fields; i++) free(s->field[i].data);
}

static void expect_read(const char *path, const layout *l, dtype type, int g, MPI_Comm comm)
{
    sentence why = { "" };
    checkpoint_state s = make(l, type, g, comm);
    const checkpoint_status status = checkpoint_read(comm, path, &s, &why);
    if (!on_all(comm, status == CHECKPOINT_OK)) fail_msg("%s", why.text);
    for (int i = 0; i < s.fields; i++) {
        assert_true(on_all(comm, fixture_holds(&s.field[i], type, i)));
        checkpoint_field expected = s.field[i];
        fixture_fill(&expected, type, i);
        assert_int_equal(s.field[i].fingerprint, expected.fingerprint);
    }
    assert_int_equal(s.step, 1234567890123);
    drop(&s);
}

static void expect_info(const char *path, const checkpoint_state *s)
{
    sentence why = { "" };
    checkpoint_info info;
    assert_int_equal(checkpoint_read_info(MPI_COMM_WORLD, path, &info, &why), CHECKPOINT_OK);
    assert_string_equal(info.kind, s->kind);
    assert_string_equal(info.deck, s->deck);
    assert_int_equal(info.step, s->step);
    assert_int_equal(info.type, s->type);
    assert_int_equal(info.nx, s->field[0].nx);
    assert_int_equal(info.ny, s->field[0].ny);
    assert_int_equal(info.fingerprint, s->field[strcmp(s->kind, "transpose") == 0 ? 1 : 0].fingerprint);
    checkpoint_info_free(&info);
}

static void any_layout(void **state)
{
    (void)state;
    sentence why = { "" };
    char path[FIXTURE_PATH_BYTES + 32], xdmf[FIXTURE_PATH_BYTES + 32];
    snprintf(path, sizeof path, "%s/state.h5", folder);
    snprintf(xdmf, sizeof xdmf, "%s/state.xmf", folder);
    for (size_t n = 0; n < sizeof layouts / sizeof layouts[0]; n++)
        for (int t = 0; t < 2; t++)
            for (int g = 0; g < 3; g++) {
                if (SANITIZED && ((int)n + t + g) % 3 != 0) continue;
                const dtype type = t ? DTYPE_F64 : DTYPE_F32;
                checkpoint_state s = make(&layouts[n], type, g, MPI_COMM_WORLD);
                for (int i = 0; i < s.fields; i++) fixture_fill(&s.field[i], type, i);
                const checkpoint_status status = checkpoint_write(MPI_COMM_WORLD, path, &s, NULL, &why);
                if (!on_all(MPI_COMM_WORLD, status == CHECKPOINT_OK)) fail_msg("%s", why.text);
                expect_info(path, &s);
                for (int other = 0; other < 3; other++)
                    expect_read(path, &layouts[n], type, other, MPI_COMM_WORLD);
                expect_read(path, &layouts[n], type, 0, MPI_COMM_SELF);
                FILE *f = fopen(xdmf, "r");
                assert_true(on_all(MPI_COMM_WORLD, f != NULL));
                fclose(f);
                drop(&s);
            }
}

static void bands_tile_the_block(void **state)
{
    (void)state;
    const box blocks[] = {
        { 3, 10, 5, 9 }, { 0, 1, 0, 1 }, { 7, 7, 0, 4 }, { 0, 100, 2, 3 }, { 2, 5, 0, 1000 }
    };
    for (size_t n = 0; n < sizeof blocks / sizeof blocks[0]; n++)
        for (size_t bytes = 1; bytes < 4000; bytes = bytes * 3 + 1) {
            const box own = blocks[n];
            int64_t next = 0; /* dense index within own where the next band must start */
            const int64_t count = checkpoint_bands(own, 8, bytes);
            for (int64_t i = 0; i < count; i++) {
                const box b = checkpoint_band(own, 8, bytes, i);
                assert_int_equal((b.y0 - own.y0) * box_width(own) + b.x0 - own.x0, next);
                assert_true(box_height(b) == 1 || box_width(b) == box_width(own));
                assert_true(box_cells(b) == 1 || (size_t)box_cells(b) * 8 <= bytes);
                next += box_cells(b);
            }
            assert_int_equal(next, box_cells(own));
        }
}

int main(int argc, char **argv)
{
    checkpoint_before_mpi_init();
    MPI_Init(&argc, &argv);
    fixture_folder(folder);
    const struct CMUnitTest tests[] = { cmocka_unit_test(bands_tile_the_block),
                                        cmocka_unit_test(any_layout) };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fixture_remove(folder);
    MPI_Finalize();
    return failed ? 1 : 0;
}
