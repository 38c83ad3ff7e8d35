/* A state of 1,024 parts is verified and loaded within seconds, with few descriptors: no part is lost for
 * want of them, as they are through HDF5's virtual dataset. Cells of one part far beyond 2^33 are read from
 * where they are. ranks: 1 4 */
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "files/crc32c.h"
#include "files/replace.h"
#include "ranks/decomp.h"
#include "state/attempt.h"
#include "support/state_tests.h"

enum { PARTS = 1024, NX = 1024, NY = 2048 };

/* By one rank: what 1,024 would make. */
static void make(const char *path)
{
    static attempt a;
    const state_level l = {
        .kind = "heat", .type = DTYPE_F64, .step = 1, .fields = 1, .field = { { "u", NX, NY } }
    };
    state_info *s = &a.s;
    snprintf(a.dir, sizeof a.dir, "%s", folder);
    attempt_init(&a, path, &l, PARTS, 0x0badcafe);
    s->part = calloc(PARTS, sizeof *s->part);
    for (int k = 0; k < PARTS; k++) s->part[k].of[0].cells = decomp_share(NX, NY, PARTS, k);
    state_number_blocks(s);
    s->crc = calloc((size_t)s->blocks, sizeof *s->crc);
    must(attempt_begin(&a) == STATE_OK, a.why.text);
    for (a.number = 0; a.number < PARTS; a.number++) {
        state_cells f = fixture_field("u", NX, NY, s->part[a.number].of[0].cells, DTYPE_F64);
        fixture_fill(&f, DTYPE_F64, 0);
        s->field[0].fingerprint += f.fingerprint;
        must(attempt_make_part(&a) == STATE_OK &&
                 attempt_write(&a, &(collect_window){ 0, 0, f.own, f.data }) == STATE_OK &&
                 attempt_finish_part(&a, false) == STATE_OK,
             a.why.text);
        free(f.data);
    }
    must(state_index_create(path, s, &why) == STATE_OK && state_index_end(path, s) == 0, why.text);
    state_close(s);
}

static void all_of_it(void **unused)
{
    const int ranks = fixture_ranks(MPI_COMM_WORLD), rank = fixture_rank(MPI_COMM_WORLD);
    const struct rlimit few = { 128, 128 };
    char path[FIXTURE_PATH_BYTES + 32];
    state_report r;
    snprintf(path, sizeof path, "%s/wide.h5", folder);
    if (rank == 0) make(path);
    MPI_Barrier(MPI_COMM_WORLD);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    const double begin_s = MPI_Wtime();
    state_level l = { .kind = "heat", .type = DTYPE_F64, .fields = 1 };
    l.field[0] = fixture_cut("u", NX, NY, ranks, 1, rank, DTYPE_F64); /* columns: each rank meets all parts */
    const state_status loaded = fixture_load(MPI_COMM_WORLD, path, &l, &why);
    if (loaded != STATE_OK) fail_msg("%s", why.text);
    const double loaded_s = MPI_Wtime();
    assert_true(fixture_holds(&l.field[0], DTYPE_F64, 0));
    assert_int_equal(fixture_verify(MPI_COMM_WORLD, path, &r, &why), STATE_OK);
    const double verified_s = MPI_Wtime();
    print_message("loaded in %.2f s, verified in %.2f s\n", loaded_s - begin_s, verified_s - loaded_s);
    assert_true(verified_s - begin_s < 20);
    free(l.field[0].data);
}

/* ---- cells far beyond 2^33: a part of 2^34 cells, of which the file has a few blocks and holes ---- */

static void a_row_near_the_end(int64_t nx, int64_t ny)
{
    static float row[STATE_BLOCK_BYTES / 4], back[1 << 16];
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

STATE_TESTS(NULL, cmocka_unit_test(all_of_it), cmocka_unit_test(far_cells))
