/* A call that fails while a state is written, any of them, with what a full quota says: every rank hears one
 * sentence, the older state is whole, nothing half-written is left, and the next one is written as if nothing
 * had been.
 *
 * libc's calls are taken over here, also for the libraries that call them: of those that could ask for more
 * blocks in the folder, one rank's n-th fails; and then it and all that follow; for every n until there are
 * no more. And its n-th write says that it is done and is not: what is read back differs. What another host
 * sees late is waited for: a new folder that a rank does not know for its first looks. ranks: 1 2 */
#include "support/disk_calls.h"

enum { PATH_BYTES = FIXTURE_STEP_BYTES, CALLS_MAX = 2000 };

/* ---- calls that fail ---- */

static atomic_int calls_left = -1; /* that are as ever; -1: all */
static atomic_int late_looks;
static enum { ALONE, AND_ALL_AFTER, A_LIE } how;
static _Atomic(const char *) failed_call;

static void disk_after(const disk_call *c) {}
static disk_verdict disk_before(const disk_call *c)
{
    const bool asks_for_blocks =
        c->what != DISK_LOOK && c->what != DISK_UNLINK && (c->what != DISK_OPEN || c->flags & O_CREAT);
    if (c->what == DISK_LOOK && atomic_load(&late_looks) > 0) {
        errno = atomic_fetch_sub(&late_looks, 1) % 2 ? ENOENT : ESTALE;
        return DISK_FAILS;
    }
    if (!asks_for_blocks || atomic_load(&calls_left) < 0) return DISK_AS_EVER;
    if (how == A_LIE && (c->what != DISK_WRITE || !strstr(c->name, ".h5"))) return DISK_AS_EVER;
    if (atomic_load(&calls_left) > 0) {
        atomic_fetch_sub(&calls_left, 1);
        return DISK_AS_EVER;
    }
    if (!atomic_load(&failed_call)) atomic_store(&failed_call, c->call);
    else if (how != AND_ALL_AFTER) return DISK_AS_EVER;
    errno = EDQUOT;
    return how == A_LIE ? DISK_LIES : DISK_FAILS;
}

/* ---- what must hold ---- */

static state_status write_step(state_writer *w, int64_t step)
{
    state_level s = fixture_state(MPI_COMM_WORLD, 60, 50, DTYPE_F64, step);
    const state_request request = { &s, NULL, NULL, NULL };
    why.text[0] = '\0';
    state_status status = state_writer_begin(w, &request, &why);
    if (status == STATE_OK) status = state_writer_wait(w, &why);
    free(s.field[0].data);
    return status;
}

static bool is_whole(const char *name, int64_t step)
{
    sentence said;
    char path[PATH_BYTES];
    state_report report;
    fixture_step(path, folder, name, step, ".h5");
    return fixture_verify(MPI_COMM_WORLD, path, &report, &said) == STATE_OK;
}

static void remove_step(const char *name, int64_t step)
{
    char command[2 * PATH_BYTES];
    MPI_Barrier(MPI_COMM_WORLD);
    snprintf(command, sizeof command, "rm -rf '%s/%s'/step_%010lld.*", folder, name, (long long)step);
    if (fixture_rank(MPI_COMM_WORLD) == 0 && system(command) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* True while there was a call to fail. */
static bool with_a_failure(state_writer *w, const char *name, int victim, int n)
{
    int failed;
    if (fixture_rank(MPI_COMM_WORLD) == victim) atomic_store(&calls_left, n);
    const state_status status = write_step(w, 2);
    atomic_store(&calls_left, -1);
    const char *const call = atomic_exchange(&failed_call, NULL);
    failed = call != NULL;
    MPI_Bcast(&failed, 1, MPI_INT, victim, MPI_COMM_WORLD);
    const bool there = fixture_has(folder, name, 2, ".h5"), half = fixture_left_in(folder, name) != 0;
    const bool done = status == STATE_OK && there; /* what is only tidied up behind a state may fail */
    const state_status due = how == A_LIE && status == STATE_DAMAGED ? STATE_DAMAGED : STATE_IO;
    const bool told = failed && status == due && strstr(why.text, name) && !strchr(why.text, '\n');
    const bool whole = is_whole(name, 1) && (!on_all(MPI_COMM_WORLD, there) || is_whole(name, 2));
    if (!on_all(MPI_COMM_WORLD, (done || told) && !half && whole))
        fail_msg("call %d of rank %d, %s: status %d, %s%s%s", n, victim, call ? call : "another rank's",
                 (int)status, why.text, half ? ", half a file left" : "",
                 whole ? "" : ", a file that is not whole");
    remove_step(name, 2);
    return failed;
}

static void every_call(bool async, int writers, int as, const char *name)
{
    char dir[PATH_BYTES];
    state_status status;
    const int ranks = fixture_ranks(MPI_COMM_WORLD);
    snprintf(dir, sizeof dir, "%s/%s", folder, name);
    sentence note;
    const state_writer_options o = { .folder = dir, .async = async, .writers = writers };
    state_writer *w = state_writer_create(MPI_COMM_WORLD, &o, &status, &note, &why);
    assert_int_equal(status, STATE_OK);
    assert_int_equal(state_writer_stats(w).async, async);
    assert_int_equal(write_step(w, 1), STATE_OK);
    how = as;
    atomic_store(&disk_watched, true);
    for (int victim = 0; victim < ranks; victim++) {
        int n = 0;
        while (n < CALLS_MAX && with_a_failure(w, name, victim, n)) n++;
        if (fixture_rank(MPI_COMM_WORLD) == 0)
            print_message("%s: %d calls of rank %d failed\n", name, n, victim);
        assert_true((n >= 1 || victim >= writers) && n < CALLS_MAX);
    }
    assert_int_equal(write_step(w, 2), STATE_OK);
    state_writer_destroy(&w);
}

static void beside_the_steps(void **unused)
{
    const int ranks = fixture_ranks(MPI_COMM_WORLD);
    every_call(true, ranks, ALONE, "beside");
    every_call(true, ranks, AND_ALL_AFTER, "beside_on");
    every_call(true, ranks, A_LIE, "beside_lie");
}

static void while_they_wait(void **unused)
{
    every_call(false, 1, ALONE, "wait");
    every_call(false, 1, AND_ALL_AFTER, "wait_on");
    every_call(false, 1, A_LIE, "wait_lie");
}

static void a_folder_that_is_seen_late(void **unused)
{
    const int ranks = fixture_ranks(MPI_COMM_WORLD);
    char path[PATH_BYTES];
    state_level l = fixture_state(MPI_COMM_WORLD, 53, 71, DTYPE_F64, 1);
    snprintf(path, sizeof path, "%s/late.h5", folder);
    if (fixture_rank(MPI_COMM_WORLD) == ranks - 1) atomic_store(&late_looks, 5);
    if (fixture_write(MPI_COMM_WORLD, path, &l, ranks, &why) != STATE_OK) fail_msg("%s", why.text);
    assert_int_equal(atomic_load(&late_looks), 0);
    free(l.field[0].data);
}

STATE_TESTS(NULL, cmocka_unit_test(beside_the_steps), cmocka_unit_test(while_they_wait),
            cmocka_unit_test(a_folder_that_is_seen_late))
