/* No rank waits for a state that is written in the background, or collected, before it is asked for; what
 * went wrong between the device and the disk is found by the fingerprint. ranks: 1 4 */
#include "support/state_tests.h"

static bool wrong;
static bool on_the_third_look(void *looks, state_level *l, double *held_s)
{
    if (++*(int *)looks < 3) return false;
    *held_s = 0.25;
    l->field[0].fingerprint += wrong && rank == 0;
    return true;
}

static void a_snapshot(void **unused)
{
    char path[FIXTURE_STEP_BYTES];
    state_writer *w = fixture_writer(
        &(state_writer_options){ .folder = folder, .async = true, .writers = (ranks + 1) / 2 });
    state_level l = fixture_state(64, 64, DTYPE_F64, 7);
    for (int i = 0; i < 2; i++) {
        int looks = 0;
        l.step = i;
        wrong = i == 1;
        assert_int_equal(state_writer_begin(w, &(state_request){ l, on_the_third_look, NULL, &looks }, &why),
                         STATE_OK);
        assert_true(state_writer_poll(w, &why) == STATE_OK && looks == 2 && state_writer_busy(w));
        assert_false(fixture_step(path, ".", i));
        state_status ended = STATE_OK;
        for (; state_writer_busy(w); usleep(100)) ended = state_writer_poll(w, &why);
        assert_int_equal(ended, wrong ? STATE_DAMAGED : STATE_OK);
        assert_true(fixture_step(path, ".", i) != wrong);
        assert_int_equal(fixture_left("."), 0);
        MPI_Barrier(MPI_COMM_WORLD); /* before a rank begins the next attempt */
    }
    const state_stats s = state_writer_stats(w);
    assert_non_null(strstr(why.text, "/fields/u was read back with fingerprint"));
    assert_true(s.count == 1 && s.failed == 1 && s.parts == (ranks + 1) / 2 && s.bytes == 64 * 64 * 8);
    assert_true(s.write_s > 0 && s.verify_s > 0 && s.snapshot_s == 0.5 && s.stall_s >= 0.5 &&
                s.stall_s < 0.5 + s.write_s + s.verify_s + 0.05);
    state_writer_destroy(&w);
    free(l.field[0].data);
}

STATE_TESTS(NULL, cmocka_unit_test(a_snapshot))
