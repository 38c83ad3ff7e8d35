/* A state written by one process grid and any number of writers is read to the same bits by every other grid,
 * 1D and 2D, f32 and f64, one and two fields, in blocks, and windows of eight, that end anywhere, beside the
 * steps or while they wait; also cells far beyond 2^33. ranks: 1 2 3 5 7 release: all cases */
#include <errno.h>
#include <fcntl.h>

#include "files/crc32c.h"
#include "files/replace.h"
#include "support/sanitized.h"
#include "support/state_tests.h"

typedef struct layout {
    int64_t nx, ny;
    const char *second; /* name of the second field, NULL: one field; "b" is transposed */
} layout;

static const layout layouts[] = {
    { 1, 1, NULL },       { 3, 1, NULL }, { 1009, 1, "u_prev" }, { 64, 48, NULL },
    { 37, 53, "u_prev" }, { 5, 2, NULL }, { 41, 19, "b" },       { 1, 7, NULL },
};
static char path[FIXTURE_PATH_BYTES + 32];

/* The g-th way to cut nx x ny among the ranks: columns, rows, and where there is one, a grid of both. */
static state_cells cut(int g, const char *name, int64_t nx, int64_t ny, dtype type, MPI_Comm comm)
{
    const int ranks = fixture_ranks(comm), columns = g == 1 ? 1 : g == 0 || ranks % 2 ? ranks : 2;
    return fixture_cut(name, nx, ny, columns, ranks / columns, fixture_rank(comm), type);
}

static state_level make(const layout *l, dtype type, int g, MPI_Comm comm)
{
    const bool transposed = l->second && strcmp(l->second, "b") == 0;
    state_level s = { .kind = transposed ? "transpose" : "wave",
                      .type = type,
                      .step = 1234567890123,
                      .deck = "[grid]\nnx = 37\n# \xc3\xa9\n",
                      .fields = l->second ? 2 : 1,
                      .main_field = transposed,
                      .version = "1.2" };
    s.field[0] = cut(g, transposed ? "a" : "u", l->nx, l->ny, type, comm);
    if (l->second) {
        const int64_t nx = transposed ? l->ny : l->nx, ny = transposed ? l->nx : l->ny;
        s.field[1] = cut(g, l->second, nx, ny, type, comm);
    }
    return s;
}

static void expect_read(const layout *l, dtype type, int g, MPI_Comm comm)
{
    state_level s = make(l, type, g, comm);
    const state_status status = fixture_load(comm, path, &s, &why);
    if (!on_all(comm, status == STATE_OK)) fail_msg("%s", why.text);
    assert_int_equal(s.step, 1234567890123);
    for (int i = 0; i < s.fields; i++) {
        assert_true(on_all(comm, fixture_holds(&s.field[i], type, i)));
        free(s.field[i].data);
    }
}

static void expect_description(const state_level *l, int writers)
{
    state_info s;
    state_report report;
    assert_int_equal(state_open(MPI_COMM_WORLD, path, &s, &why), STATE_OK);
    assert_true(strcmp(s.kind, l->kind) == 0 && strcmp(s.deck, l->deck) == 0 && s.step == l->step &&
                s.type == l->type && s.main_field == l->main_field);
    assert_true(s.parts >= 1 && s.parts <= writers);
    assert_true((s.parts == 1) == (s.folder[0] == '\0'));
    for (int k = 0; k < s.parts && s.parts < fixture_ranks(MPI_COMM_WORLD); k++)
        for (int i = 0; i < l->fields; i++) assert_false(box_empty(s.part[k].of[i].cells));
    for (int i = 0; i < l->fields; i++) {
        uint64_t all = 0;
        MPI_Allreduce(&l->field[i].fingerprint, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        assert_int_equal(s.field[i].fingerprint, all);
        assert_string_equal(s.field[i].name, l->field[i].name);
        assert_true(s.field[i].nx == l->field[i].nx && s.field[i].ny == l->field[i].ny);
    }
    assert_int_equal(state_verify(MPI_COMM_WORLD, &s, &report, &why), STATE_OK);
    state_close(&s);
}

static void any_layout(void **unused)
{
    const int ranks = fixture_ranks(MPI_COMM_WORLD);
    const int writers[] = { 1, ranks, (ranks + 1) / 2 };
    const int64_t block_bytes[] = { 1, 200, STATE_BLOCK_BYTES };
    int number = 0;
    snprintf(path, sizeof path, "%s/state.h5", folder);
    for (size_t n = 0; n < sizeof layouts / sizeof layouts[0]; n++)
        for (int t = 0; t < 2; t++)
            for (int g = 0; g < 3; g++, number++) {
                if (SANITIZED && number % 3 != 0) continue;
                const dtype type = t ? DTYPE_F64 : DTYPE_F32;
                state_level s = make(&layouts[n], type, g, MPI_COMM_WORLD);
                for (int i = 0; i < s.fields; i++) fixture_fill(&s.field[i], type, i);
                state_block_bytes = block_bytes[number % 3];
                const int by = writers[number / 2 % 3];
                const state_status status = fixture_write(number / 6 % 2, path, &s, by, &why);
                if (!on_all(MPI_COMM_WORLD, status == STATE_OK)) fail_msg("%s", why.text);
                expect_description(&s, by);
                for (int other = 0; other < 3; other++) expect_read(&layouts[n], type, other, MPI_COMM_WORLD);
                expect_read(&layouts[n], type, 0, MPI_COMM_SELF);
                assert_int_equal(fixture_left(folder, "."), 0); /* parts of the state before are gone */
                for (int i = 0; i < s.fields; i++) free(s.field[i].data);
            }
}

/* Each rectangle of a state of several blocks a part. */
static void any_rectangle(void **unused)
{
    enum { NX = 1100, NY = 1300 };
    const int ranks = fixture_ranks(MPI_COMM_WORLD);
    const box wanted[] = { { 0, NX, 0, NY },        { 3, 5, 0, NY },        { 0, NX, 700, 701 },
                           { 999, 1100, 17, 1290 }, { 549, 551, 649, 651 }, { 0, 1, NY - 1, NY } };
    double *data = malloc(sizeof *data * NX * NY);
    state_block_bytes = 1 << 19;
    for (int by = 1; by <= ranks; by += ranks > 1 ? ranks - 1 : 1) {
        state_info s;
        state_level l = fixture_state(MPI_COMM_WORLD, NX, NY, DTYPE_F64, 1);
        assert_int_equal(fixture_write(false, path, &l, by, &why), STATE_OK);
        assert_int_equal(state_open(MPI_COMM_WORLD, path, &s, &why), STATE_OK);
        assert_true(s.blocks >= 3);
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
            state_cells f = { "u", NX, NY, wanted[i], 1, data, 0 };
            memset(data, 0xff, sizeof *data * NX * NY);
            const state_status status = state_read(&s, 0, wanted[i], data, &why);
            if (status != STATE_OK) fail_msg("%s", why.text);
            assert_true(fixture_holds(&f, DTYPE_F64, 0));
        }
        state_close(&s);
        free(l.field[0].data);
    }
    free(data);
}

/* ---- cells far beyond 2^33: a part of 2^34 cells, of which the file has a few blocks and holes ---- */

static void a_row_near_the_end(int64_t nx, int64_t ny)
{
    static float row[STATE_BLOCK_BYTES / 4], back[1 << 16];
    state_block_bytes = STATE_BLOCK_BYTES;
    state_part part = { .of = { { box_make(0, nx, 0, ny), 4096 } } };
    state_info s = {
        .type = DTYPE_F32, .fields = 1, .parts = 1, .part = &part, .field = { { "u", nx, ny, 0 } }
    };
    snprintf(s.path, sizeof s.path, "/tmp/weft_far_XXXXXX"); /* memory has no holes of that size */
    state_number_blocks(&s);
    assert_int_equal(s.blocks, nx * ny / (1 << 20));
    s.crc = calloc((size_t)s.blocks, sizeof *s.crc);
    const int fd = mkstemp(s.path);
    assert_true(fd >= 0);
    const int64_t last = s.blocks - 1, first_cell = last << 20;
    for (int64_t i = 0; i < 1 << 20; i++) row[i] = (float)fixture_value(0, first_cell + i);
    s.crc[last] = crc32c(0, row, sizeof row);
    const int code = replace_pwrite(fd, row, sizeof row, 4096 + 4 * (uint64_t)first_cell);
    close(fd);
    if (code == EFBIG || code == ENOSPC) {
        print_message("no room for a sparse file of 64 GiB: %s\n", strerror(code));
    } else {
        const int64_t from = nx * ny - 70001; /* to the last cell but one */
        const box wanted = ny == 1 ? box_make(from, from + 60000, 0, 1)
                                   : box_make(5, 5 + 60000, (nx * ny - 1) / nx, (nx * ny - 1) / nx + 1);
        state_cells found = { "u", nx, ny, wanted, 1, back, 0 };
        assert_int_equal(code, 0);
        const state_status status = state_read(&s, 0, wanted, back, &why);
        if (status != STATE_OK) fail_msg("%s", why.text);
        assert_true(fixture_holds(&found, DTYPE_F32, 0));
    }
    unlink(s.path);
    free(s.crc);
}

static void far_cells(void **unused)
{
    if (fixture_rank(MPI_COMM_WORLD) > 0) return;
    a_row_near_the_end((int64_t)1 << 17, (int64_t)1 << 17);
    a_row_near_the_end((int64_t)1 << 34, 1);
}

static void how_many_write(void **unused)
{
    const uint64_t mib = 1 << 20;
    assert_int_equal(state_writers(1, 8, 0, 0), 1);
    assert_int_equal(state_writers(64 * mib, 8, 0, 0), 1);
    assert_int_equal(state_writers(64 * mib + 1, 8, 0, 0), 2);
    assert_int_equal(state_writers(1 << 30, 8, 0, 0), 8);
    assert_int_equal(state_writers((uint64_t)1 << 40, 1000, 0, 0), 256);
    assert_int_equal(state_writers((uint64_t)1 << 40, 1000, 1000, 0), 1000);
    assert_int_equal(state_writers(1, 8, 100, 0), 8);
    assert_int_equal(state_writers(1 << 30, 8, 0, STATE_ONE_FILE_BYTES), 1);
    assert_int_equal(state_writers((1 << 30) + mib, 8, 0, STATE_ONE_FILE_BYTES), 8);
}

STATE_TESTS(NULL, cmocka_unit_test(how_many_write), cmocka_unit_test(any_layout),
            cmocka_unit_test(any_rectangle), cmocka_unit_test(far_cells))
