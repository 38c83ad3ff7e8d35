/* A state of 1,024 parts is loaded and verified within seconds, with few descriptors: no part is lost for want
 * of them, as parts are through HDF5's virtual dataset. ranks: 1 4 */
#include <sys/resource.h>

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
    for (a.number = 0; a.number < PARTS; a.number++) {
        state_cells f = fixture_cut("u", NX, NY, 1, PARTS, a.number, DTYPE_F64);
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
    assert_true(fixture_holds(&l.field[0], DTYPE_F64, 0));
    assert_int_equal(fixture_verify(MPI_COMM_WORLD, path, &r, &why), STATE_OK);
    assert_true(MPI_Wtime() - begin_s < 20);
    free(l.field[0].data);
}

STATE_TESTS(NULL, cmocka_unit_test(all_of_it))
