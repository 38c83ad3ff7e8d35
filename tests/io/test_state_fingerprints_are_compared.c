/* A state whose blocks are right and whose index records another fingerprint is damaged: by verify, and by a
 * restart, of each field. ranks: 1 2 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/state_fixture.h"

static char folder[FIXTURE_PATH_BYTES];
static sentence why;

static void each_field(void **unused)
{
    (void)unused;
    const int ranks = fixture_ranks(MPI_COMM_WORLD), rank = fixture_rank(MPI_COMM_WORLD);
    char path[FIXTURE_PATH_BYTES + 32], name[64];
    state_level l = { .kind = "wave", .type = DTYPE_F64, .deck = "", .fields = 2 };
    snprintf(path, sizeof path, "%s/state.h5", folder);
    for (int i = 0; i < 2; i++) {
        l.field[i] = fixture_cut(i ? "u_prev" : "u", 40, 30, 1, ranks, rank, DTYPE_F64);
        fixture_fill(&l.field[i], DTYPE_F64, i);
    }
    assert_int_equal(fixture_write(MPI_COMM_WORLD, path, &l, ranks, &why), STATE_OK);
    for (int i = 0; i < 2; i++) {
        state_info s;
        state_report r;
        assert_int_equal(state_open(MPI_COMM_WORLD, path, &s, &why), STATE_OK);
        s.field[i].fingerprint ^= 1;
        snprintf(name, sizeof name, "/fields/%s has fingerprint", l.field[i].name);
        assert_int_equal(state_load(MPI_COMM_WORLD, &s, &l, &why), STATE_DAMAGED);
        assert_non_null(strstr(why.text, name));
        assert_int_equal(state_verify(MPI_COMM_WORLD, &s, &r, &why), STATE_DAMAGED);
        assert_true(r.damaged == 1 && strstr(r.damage[0].text, name));
        state_close(&s);
    }
    for (int i = 0; i < 2; i++) free(l.field[i].data);
}

int main(int argc, char **argv)
{
    state_before_mpi_init();
    MPI_Init(&argc, &argv);
    fixture_folder(folder);
    const struct CMUnitTest tests[] = { cmocka_unit_test(each_field) };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fixture_remove(folder);
    MPI_Finalize();
    return failed ? 1 : 0;
}
