/* No rank waits for a state that is written in the background, or collected, before it is asked for; what
 * went wrong between the device and the disk is found by the fingerprint. ranks: 1 2 4 */
#include "support/state_tests.h"

static bool never;
static bool on_the_third_look(void *looks, state_level *s, double *held_s)
{
    if (never || ++*(int *)looks < 3) return false;
    *held_s = 0.25;
    return true;
}

static void no_rank_waits(void **unused)
{
    char path[FIXTURE_STEP_BYTES];
    state_writer *w =
        fixture_writer(&(state_writer_options){ .folder = folder, .async = true, .writers = 1 });
    state_level s = fixture_state(64, 64, DTYPE_F64, 7);
    int looks = 0;
    const state_request request = { &s, on_the_third_look, NULL, &looks };
    never = true;
    assert_int_equal(state_writer_begin(w, &request, &why), STATE_OK);
    for (int i = 0; i < 100; i++, usleep(100))
        assert_true(state_writer_poll(w, &why) == STATE_OK && state_writer_busy(w));
    assert_false(fixture_step(path, ".", 7));
    never = false;
    for (; state_writer_busy(w); usleep(100)) assert_int_equal(state_writer_poll(w, &why), STATE_OK);
    assert_true(looks >= 3 && fixture_step(path, ".", 7));
    const state_stats stats = state_writer_stats(w);
    assert_true(stats.count == 1 && stats.parts == 1 && stats.bytes == 64 * 64 * 8 && stats.write_s > 0 &&
                stats.verify_s > 0);
    assert_true(stats.snapshot_s == 0.25 && stats.stall_s >= 0.25 &&
                stats.stall_s < 0.25 + stats.write_s + stats.verify_s + 0.05);
    state_writer_destroy(&w);
    free(s.field[0].data);
}

/* The device's fingerprint is not that of the host's copy. */
static bool with_another_fingerprint(void *owner, state_level *s, double *held_s)
{
    *held_s = 0;
    if (rank == 0) s->field[0].fingerprint++;
    return true;
}

static void a_snapshot_that_went_wrong(void **unused)
{
    char path[FIXTURE_STEP_BYTES];
    state_writer *w =
        fixture_writer(&(state_writer_options){ .folder = folder, .async = true, .writers = ranks });
    state_level s = fixture_state(30, 40, DTYPE_F32, 1);
    const state_request request = { &s, with_another_fingerprint, NULL, NULL };
    assert_int_equal(state_writer_begin(w, &request, &why), STATE_OK);
    assert_int_equal(state_writer_wait(w, &why), STATE_DAMAGED);
    assert_non_null(strstr(why.text, "/fields/u was read back with fingerprint"));
    assert_true(!fixture_step(path, ".", 1) && fixture_left(".") == 0);
    state_writer_destroy(&w);
    free(s.field[0].data);
}

STATE_TESTS(NULL, cmocka_unit_test(no_rank_waits), cmocka_unit_test(a_snapshot_that_went_wrong))
