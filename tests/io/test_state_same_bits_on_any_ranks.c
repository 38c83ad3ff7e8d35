/* A state written by one process grid and any number of writers is read to the same bits by every other grid,
 * 1D and 2D, f32 and f64, one and two fields, in blocks, and windows of seven, that end anywhere, beside the
 * steps or while they wait; also cells far beyond 2^33, and 1,024 parts. ranks: 1 2 4 7 release: all cases
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "files/crc32c.h"
#include "files/replace.h"
#include "ranks/decomp.h"
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

/* Cells of the g-th way to cut it among all ranks: columns, rows, and where there is one, a grid of both; or,
 * alone, of one rank. */
static state_level make(const layout *l, dtype type, int g, bool alone)
{
    const bool transposed = l->second && strcmp(l->second, "b") == 0;
    const int all = alone ? 1 : ranks, columns = g == 1 ? 1 : g == 0 || all % 2 ? all : 2,
              mine = alone ? 0 : rank;
    state_level s = { .kind = transposed ? "transpose" : "wave",
                      .type = type,
                      .step = 1234567890123,
                      .deck = "[grid]\nnx = 37\n# \xc3\xa9\n",
                      .fields = l->second ? 2 : 1,
                      .main_field = transposed,
                      .version = "1.2" };
    for (int i = 0; i < s.fields; i++)
        s.field[i] = fixture_cut(i ? l->second : transposed ? "a" : "u", i && transposed ? l->ny : l->nx,
                                 i && transposed ? l->nx : l->ny, columns, all / columns, mine, type);
    return s;
}

static void expect_read(const layout *l, dtype type, int g, bool alone)
{
    state_level s = make(l, type, g, alone);
    const state_status status = fixture_load(alone ? MPI_COMM_SELF : MPI_COMM_WORLD, path, &s);
    if (!on_all(status == STATE_OK)) fail_msg("%s", why.text);
    assert_int_equal(s.step, 1234567890123);
    for (int i = 0; i < s.fields; i++) {
        assert_true(on_all(fixture_holds(&s.field[i], type, i)));
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
    for (int i = 0; i < l->fields; i++) {
        uint64_t all = 0;
        assert_true(s.parts <= (s.field[i].ny > 1 ? s.field[i].ny : s.field[i].nx)); /* none is empty */
        for (int k = 0; k < s.parts && s.parts < ranks; k++) assert_false(box_empty(s.part[k].of[i].cells));
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
    const int writers[] = { 1, ranks, (ranks + 1) / 2 };
    const int64_t block_bytes[] = { 1, 200, STATE_BLOCK_BYTES };
    int number = 0;
    for (size_t n = 0; n < sizeof layouts / sizeof layouts[0]; n++)
        for (int t = 0; t < 2; t++)
            for (int g = 0; g < 3; g++, number++) {
                if (SANITIZED && number % 3 != 0) continue;
                const dtype type = t ? DTYPE_F64 : DTYPE_F32;
                const int by = writers[number / 2 % 3];
                state_level s = make(&layouts[n], type, g, false);
                for (int i = 0; i < s.fields; i++) fixture_fill(&s.field[i], type, i);
                state_block_bytes = block_bytes[number % 3];
                fixture_write(
                    &(state_writer_options){ .file = path, .async = number / 6 % 2, .writers = by }, &s);
                expect_description(&s, by);
                for (int other = 0; other < 3; other++) expect_read(&layouts[n], type, other, false);
                expect_read(&layouts[n], type, 0, true);
                assert_int_equal(fixture_left("."), 0); /* parts of the state before are gone */
                for (int i = 0; i < s.fields; i++) free(s.field[i].data);
            }
}

/* Reads a rectangle of the state's only field, whose values must be right. */
static void expect_rectangle(const state_info *s, box wanted)
{
    state_cells f = { "u", s->field[0].nx, s->field[0].ny, wanted, 1, NULL, 0 };
    f.data = malloc((size_t)box_cells(wanted) * dtype_bytes(s->type));
    memset(f.data, 0xff, (size_t)box_cells(wanted) * dtype_bytes(s->type));
    if (state_read(s, 0, wanted, f.data, &why) != STATE_OK) fail_msg("%s", why.text);
    assert_true(fixture_holds(&f, s->type, 0));
    free(f.data);
}

/* Each rectangle of a state of several blocks a part. */
static void any_rectangle(void **unused)
{
    enum { NX = 550, NY = 650 };
    const box wanted[] = { { 0, NX, 0, NY },     { 3, 5, 0, NY },        { 0, NX, 350, 351 },
                           { 499, NX, 17, 640 }, { 274, 276, 324, 326 }, { 0, 1, NY - 1, NY } };
    state_block_bytes = 1 << 17;
    for (int by = 1; by <= ranks; by += ranks > 1 ? ranks - 1 : 1) {
        state_info s;
        state_level l = fixture_state(NX, NY, DTYPE_F64, 1);
        fixture_write(&(state_writer_options){ .file = path, .writers = by }, &l);
        assert_int_equal(state_open(MPI_COMM_WORLD, path, &s, &why), STATE_OK);
        assert_true(s.blocks >= 3);
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) expect_rectangle(&s, wanted[i]);
        state_close(&s);
        free(l.field[0].data);
    }
}

/* ---- states that no writer makes here ---- */

/* Cells far beyond 2^33: a part of 2^34 cells, of which the file has a few blocks and holes. */
static void a_row_near_the_end(int64_t nx, int64_t ny)
{
    static float row[STATE_BLOCK_BYTES / 4];
    const int64_t from = nx * ny - 70001, last_row = (nx * ny - 1) / nx; /* to the last cell but one */
    state_info s = { .type = DTYPE_F32, .fields = 1, .parts = 1, .field = { { "u", nx, ny, 0 } } };
    s.part = calloc(1, sizeof *s.part);
    *s.part = (state_part){ .of = { { box_make(0, nx, 0, ny), 4096 } } };
    state_block_bytes = STATE_BLOCK_BYTES;
    snprintf(s.path, sizeof s.path, "/tmp/weft_far_XXXXXX"); /* memory has no holes of that size */
    state_lay_out(&s, "");
    assert_int_equal(s.blocks, nx * ny / (1 << 20));
    const int fd = mkstemp(s.path);
    const int64_t last = s.blocks - 1, first_cell = last << 20;
    for (int64_t i = 0; i < 1 << 20; i++) row[i] = (float)fixture_value(0, first_cell + i);
    s.crc[last] = crc32c(0, row, sizeof row);
    const int code = replace_pwrite(fd, row, sizeof row, 4096 + 4 * (uint64_t)first_cell);
    close(fd);
    if (code == EFBIG || code == ENOSPC) {
        print_message("no room for a sparse file of 64 GiB: %s\n", strerror(code));
    } else {
        assert_int_equal(code, 0);
        expect_rectangle(&s, ny == 1 ? box_make(from, from + 60000, 0, 1)
                                     : box_make(5, 5 + 60000, last_row, last_row + 1));
    }
    unlink(s.path);
    state_close(&s);
}

static void far_cells(void **unused)
{
    if (rank > 0) return;
    a_row_near_the_end((int64_t)1 << 17, (int64_t)1 << 17);
    a_row_near_the_end((int64_t)1 << 34, 1);
}

enum { PARTS = SANITIZED ? 256 : 1024, WIDE = 128, HIGH = 2048 };

/* By one rank: what as many would write, a block each. */
static void make_parts(state_info *s)
{
    char part[STATE_PATH_BYTES];
    struct stat info;
    *s = (state_info){ .kind = "heat", .type = DTYPE_F64, .fields = 1, .parts = PARTS, .step = 1 };
    s->field[0] = (state_field){ "u", WIDE, HIGH, 0 };
    s->part = calloc(PARTS, sizeof *s->part);
    snprintf(s->path, sizeof s->path, "%s", path);
    snprintf(s->folder, sizeof s->folder, "state.0badcafe");
    for (int k = 0; k < PARTS; k++) s->part[k].of[0].cells = decomp_share(WIDE, HIGH, PARTS, k);
    state_lay_out(s, "");
    for (int k = 0; k < PARTS; k++) {
        state_cells f = fixture_cut("u", WIDE, HIGH, 1, PARTS, k, DTYPE_F64);
        const size_t bytes = (size_t)box_cells(f.own) * sizeof(double);
        uint32_t crc;
        fixture_fill(&f, DTYPE_F64, 0);
        s->field[0].fingerprint += f.fingerprint;
        s->crc[k] = crc32c(0, f.data, bytes);
        must(state_part_create(s, k, &why) == STATE_OK, why.text);
        state_part_path(s, k, part);
        const int fd = open(part, O_RDWR);
        must(replace_pwrite(fd, f.data, bytes, (uint64_t)s->part[k].of[0].at_bytes) == 0 &&
                 fstat(fd, &info) == 0 && state_structure_crc(s, k, fd, info.st_size, &crc) == 0,
             part);
        s->part[k].bytes = info.st_size;
        s->part[k].structure_crc = crc;
        close(fd);
        free(f.data);
    }
    must(state_index_create(path, s, &why) == STATE_OK && state_index_end(path, s) == 0, why.text);
    state_close(s);
}

/* Within seconds, with few descriptors: no part is lost for want of them, as through HDF5's virtual dataset.
 */
static void of_many_parts(void **unused)
{
    static state_info s;
    state_report r;
    state_block_bytes = STATE_BLOCK_BYTES;
    fixture_shell(folder, "rm -rf * && mkdir state.0badcafe");
    if (rank == 0) make_parts(&s);
    MPI_Barrier(MPI_COMM_WORLD);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 128, 128 }), 0);
    const double begin_s = MPI_Wtime();
    state_level l = { .kind = "heat", .type = DTYPE_F64, .fields = 1 };
    l.field[0] = fixture_cut("u", WIDE, HIGH, ranks, 1, rank, DTYPE_F64); /* columns: each meets all parts */
    if (fixture_load(MPI_COMM_WORLD, path, &l) != STATE_OK) fail_msg("%s", why.text);
    assert_true(fixture_holds(&l.field[0], DTYPE_F64, 0));
    assert_int_equal(fixture_verify(path, &r), STATE_OK);
    assert_true(MPI_Wtime() - begin_s < 20);
    free(l.field[0].data);
}

static void how_many_write(void **unused)
{
    const uint64_t mib = 1 << 20;
    assert_int_equal(state_writers(64 * mib, 8, 0, 0), 1);
    assert_int_equal(state_writers(64 * mib + 1, 8, 0, 0), 2);
    assert_int_equal(state_writers(mib << 20, 1000, 0, 0), 256);
    assert_int_equal(state_writers(mib << 20, 1000, 1000, 0), 1000);
    assert_int_equal(state_writers(1, 8, 100, 0), 8);
    assert_int_equal(state_writers(mib << 10, 8, 0, STATE_ONE_FILE_BYTES), 1);
    assert_int_equal(state_writers((mib << 10) + 1, 8, 0, STATE_ONE_FILE_BYTES), 8);
}

static int set_up(void **unused) { return snprintf(path, sizeof path, "%s/state.h5", folder) < 0; }

STATE_TESTS(set_up, cmocka_unit_test(how_many_write), cmocka_unit_test(any_layout),
            cmocka_unit_test(any_rectangle), cmocka_unit_test(far_cells), cmocka_unit_test(of_many_parts))
