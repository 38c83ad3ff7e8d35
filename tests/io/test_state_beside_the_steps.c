/* No rank waits for a state that is written in the background, or collected, before it is asked for; an error
 * of one rank's thread is every rank's, in one sentence, and costs no older file. ranks: 1 2 4 */
#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>
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

static state_status submit(state_writer *w, const state_level *s)
{
    const state_request request = { s, NULL, NULL, NULL };
    return state_writer_begin(w, &request, &why);
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

/* The last rank may write no byte beyond the first half of its part: a failure of pwrite, in its thread
 * alone. */
static void one_rank_s_error(void **unused)
{
    const int rank = fixture_rank(MPI_COMM_WORLD), ranks = fixture_ranks(MPI_COMM_WORLD);
    struct rlimit old, small;
    if (ranks == 1) return; /* the main thread of rank 0 would meet the limit first */
    state_writer *w = writer_in("error", fixture_ranks(MPI_COMM_WORLD));
    state_level first = fixture_state(MPI_COMM_WORLD, 100, 1000, DTYPE_F64, 1);
    state_level second = fixture_state(MPI_COMM_WORLD, 100, 1000, DTYPE_F64, 2);
    assert_int_equal(submit(w, &first), STATE_OK);
    assert_int_equal(state_writer_wait(w, &why), STATE_OK);
    for (int64_t step = 1; step <= 2; step++) { /* the same name as an older file's, and a new one */
        getrlimit(RLIMIT_FSIZE, &old);
        small = old;
        small.rlim_cur = (rlim_t)(400000 / ranks);
        second.step = step;
        if (rank == ranks - 1) setrlimit(RLIMIT_FSIZE, &small);
        why.text[0] = '\0';
        const state_status submitted = submit(w, &second), status = state_writer_wait(w, &why);
        if (rank == ranks - 1) setrlimit(RLIMIT_FSIZE, &old);
        assert_int_equal(submitted, STATE_OK);
        assert_int_equal(status, STATE_IO);
        assert_non_null(strstr(why.text, "File too large"));
        assert_int_equal(state_writer_wait(w, &why), STATE_OK); /* told once */
        assert_false(fixture_has(folder, "error", 2, ".h5"));
        assert_int_equal(fixture_left_in(folder, "error"), 0);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    char path[PATH_BYTES];
    fixture_step(path, folder, "error", 1, ".h5");
    assert_int_equal(fixture_load(MPI_COMM_WORLD, path, &second, &why), STATE_OK);
    assert_int_equal(second.step, 1);
    second.step = 3;
    assert_int_equal(submit(w, &second), STATE_OK); /* it can go on */
    assert_int_equal(state_writer_wait(w, &why), STATE_OK);
    const state_stats stats = state_writer_stats(w);
    assert_true(stats.count == 2 && stats.failed == 2);
    state_writer_destroy(&w);
    free(first.field[0].data);
    free(second.field[0].data);
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

/* The folder goes away under a write. */
static void no_folder(void **unused)
{
    state_writer *w = writer_in("gone", fixture_ranks(MPI_COMM_WORLD));
    state_level s = fixture_state(MPI_COMM_WORLD, 30, 40, DTYPE_F32, 1);
    char path[PATH_BYTES], locked[PATH_BYTES + 16];
    snprintf(path, sizeof path, "%s/gone", folder);
    snprintf(locked, sizeof locked, "%s/.weft.lock", path);
    if (fixture_rank(MPI_COMM_WORLD) == 0) {
        unlink(locked);
        rmdir(path);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    assert_int_equal(submit(w, &s), STATE_OK);
    assert_int_equal(state_writer_wait(w, &why), STATE_IO);
    assert_non_null(strstr(why.text, "No such file or directory"));
    state_writer_destroy(&w);
    free(s.field[0].data);
}

STATE_TESTS(NULL, cmocka_unit_test(no_rank_waits), cmocka_unit_test(one_rank_s_error),
            cmocka_unit_test(a_snapshot_that_went_wrong), cmocka_unit_test(no_folder))
