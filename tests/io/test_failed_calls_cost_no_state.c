/* A call that fails while a state is written, any of them, with what a full quota says: every rank hears one
 * sentence, the older state is whole, nothing half-written is left, and the next one is written as if nothing
 * had been.
 *
 * libc's calls are taken over here, also for the libraries that call them: of those that could ask for more
 * blocks in the folder, one rank's n-th fails; and then it and all that follow; for every n until there are
 * no more. And its n-th write says that it is done and is not: what is read back differs. ranks: 1 2 */
#include "support/disk_calls.h"

enum { CALLS_MAX = 2000 };

/* ---- calls that fail ---- */

static atomic_int calls_left = -1; /* that are as ever; -1: all */
static enum { ALONE, AND_ALL_AFTER, A_LIE } how;
static _Atomic(const char *) failed_call;

static void disk_after(const disk_call *c) {}
static disk_verdict disk_before(const disk_call *c)
{
    const bool asks_for_blocks = c->what != DISK_UNLINK && (c->what != DISK_OPEN || c->flags & O_CREAT);
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
    state_level s = fixture_state(60, 50, DTYPE_F64, step);
    const state_status status = fixture_go(w, &s);
    free(s.field[0].data);
    return status;
}

/* True while there was a call to fail. */
static bool with_a_failure(state_writer *w, const char *name, int victim, int n)
{
    char path[FIXTURE_STEP_BYTES];
    state_report r;
    why.text[0] = '\0';
    if (rank == victim) atomic_store(&calls_left, n);
    const state_status status = write_step(w, 2);
    atomic_store(&calls_left, -1);
    const char *const call = atomic_exchange(&failed_call, NULL);
    int failed = call != NULL;
    MPI_Bcast(&failed, 1, MPI_INT, victim, MPI_COMM_WORLD);
    fixture_step(path, name, 1);
    const bool older = fixture_verify(path, &r) == STATE_OK, there = fixture_step(path, name, 2),
               half = fixture_left(name) != 0;
    const bool done = status == STATE_OK && there; /* what is only tidied up behind a state may fail */
    const state_status due = how == A_LIE && status == STATE_DAMAGED ? STATE_DAMAGED : STATE_IO;
    const bool told = failed && status == due && strstr(why.text, name) && !strchr(why.text, '\n');
    const bool whole = older && (!on_all(there) || fixture_verify(path, &r) == STATE_OK);
    if (!on_all((done || told) && !half && whole))
        fail_msg("call %d of rank %d, %s: status %d, %s%s%s", n, victim, call ? call : "another rank's",
                 (int)status, why.text, half ? ", half a file left" : "",
                 whole ? "" : ", a file that is not whole");
    fixture_shell(folder, "rm -rf %s/step_%010d.*", name, 2);
    return failed;
}

static void every_call(void **unused)
{
    static const char *const names[] = { "wait", "wait_on", "wait_lie", "beside", "beside_on", "beside_lie" };
    for (int i = 0; i < 6; i++) {
        const int writers = i < 3 ? 1 : ranks;
        char dir[FIXTURE_STEP_BYTES];
        snprintf(dir, sizeof dir, "%s/%s", folder, names[i]);
        state_writer *w =
            fixture_writer(&(state_writer_options){ .folder = dir, .async = i >= 3, .writers = writers });
        assert_int_equal(write_step(w, 1), STATE_OK);
        how = (__typeof__(how))(i % 3);
        atomic_store(&disk_watched, true);
        for (int victim = 0; victim < ranks; victim++) {
            int n = 0;
            while (n < CALLS_MAX && with_a_failure(w, names[i], victim, n)) n++;
            assert_true((n >= 1 || victim >= writers) && n < CALLS_MAX);
        }
        assert_int_equal(write_step(w, 2), STATE_OK);
        state_writer_destroy(&w);
    }
}

STATE_TESTS(NULL, cmocka_unit_test(every_call))
