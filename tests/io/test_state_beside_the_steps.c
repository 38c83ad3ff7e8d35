/* No rank waits for a state that is written in the background, or collected, before it is asked for; what
 * went wrong between the device and the disk is found by the fingerprint. ranks: 1 2 4 */
#include <unistd.h>

#include "support/state_tests.h"

enum { PATH_BYTES = FIXTURE_STEP_BYTES };

static state_writer *writer_in(const char *name, int writers)
{
    static char dir[PATH_BYTES];
    state_status status;
    sentence note;
    snprintf(dir, PATH_BYTES, "%s/%s", folder, name);
    const state_writer_options o = { .folder = dir, .async = true, .writers = writers };
    state_writer *w = state_writer_create(MPI_COMM_WORLD, &o, &status, &note, &why);
    assert_int_equal(status, STATE_OK);
    assert_true(state_writer_stats(w).async);
    return w;
}

static bool never;
static bool on_the_third_look(void *owner, state_level *s, double *held_s)
{
    int *looks = owner;
    (void)s;
    if (never || ++*looks < 3) return false;
    *held_s = 0.25;
    return true;
}

static void no_rank_waits(void **unused)
{
    state_writer *w = writer_in("poll", 1);
    state_level s = fixture_state(MPI_COMM_WORLD, 64, 64, DTYPE_F64, 7);
    int looks = 0;
    never = true;
    const state_request request = { &s, on_the_third_look, NULL, &looks };
    assert_int_equal(state_writer_begin(w, &request, &why), STATE_OK);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(state_writer_poll(w, &why), STATE_OK);
        assert_true(state_writer_busy(w));
        usleep(100);
    }
    assert_false(fixture_has(folder, "poll", 7, ".h5"));
    never = false;
    while (state_writer_busy(w)) {
        assert_int_equal(state_writer_poll(w, &why), STATE_OK);
        usleep(100);
    }
    assert_true(looks >= 3);
    assert_true(fixture_has(folder, "poll", 7, ".h5"));
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
    (void)owner;
    *held_s = 0;
    if (fixture_rank(MPI_COMM_WORLD) == 0) s->field[0].fingerprint++;
    return true;
}

static void a_snapshot_that_went_wrong(void **unused)
{
    state_writer *w = writer_in("snapshot", fixture_ranks(MPI_COMM_WORLD));
    state_level s = fixture_state(MPI_COMM_WORLD, 30, 40, DTYPE_F32, 1);
    const state_request request = { &s, with_another_fingerprint, NULL, NULL };
    assert_int_equal(state_writer_begin(w, &request, &why), STATE_OK);
    assert_int_equal(state_writer_wait(w, &why), STATE_DAMAGED);
    assert_non_null(strstr(why.text, "/fields/u was read back with fingerprint"));
    assert_false(fixture_has(folder, "snapshot", 1, ".h5"));
    assert_int_equal(fixture_left_in(folder, "snapshot"), 0);
    state_writer_destroy(&w);
    free(s.field[0].data);
}

STATE_TESTS(NULL, cmocka_unit_test(no_rank_waits), cmocka_unit_test(a_snapshot_that_went_wrong))
