/* A folder of states lists them newest first and keeps as many as asked. Milestones and the last verified one
 * stay besides; what a dead run left half written goes when a run takes the folder, and nothing else.
 * ranks: 1 3 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "state/state_folder.h"
#include "support/state_tests.h"

static int names_until_error = -1; /* of folders that are read; -1: no error */

/* libc's, that fails when it is told to. */
struct dirent *readdir(DIR *d)
{
    if (names_until_error > 0) names_until_error--;
    if (names_until_error != 0) return ((struct dirent * (*)(DIR *)) dlsym(RTLD_NEXT, "readdir"))(d);
    errno = EIO;
    return NULL;
}

static int64_t problem = 7; /* of how many columns the states are that are made; 0: what is none */

static state_info one_part(void)
{
    static state_part part;
    state_info s = { .kind = "heat", .fields = 1, .parts = 1, .field = { { "u", problem, 1, 0 } } };
    s.part = &part;
    return s;
}

static void touch(const char *dir, const char *name)
{
    char path[2 * FIXTURE_PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    if (fixture_rank(MPI_COMM_WORLD) == 0) {
        FILE *f = fopen(path, "w");
        fputs("not a checkpoint", f);
        fclose(f);
        state_info s = one_part();
        if (problem) must(state_index_end(path, &s) == 0, path);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static bool is_there(const char *dir, const char *name)
{
    char path[2 * FIXTURE_PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    const bool here = access(path, F_OK) == 0;
    MPI_Barrier(MPI_COMM_WORLD);
    return here;
}

static void apply(const char *dir, state_keep rule, int64_t last, int64_t verified)
{
    state_info s = one_part();
    s.step = last;
    if (fixture_rank(MPI_COMM_WORLD) == 0) state_keep_apply(dir, rule, &s, verified);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void lists(void **unused)
{
    char dir[FIXTURE_PATH_BYTES + 32];
    int64_t *steps;
    size_t count;
    snprintf(dir, sizeof dir, "%s/new/list", folder);
    assert_int_equal(state_list(MPI_COMM_WORLD, dir, &steps, &count), STATE_MISSING);
    assert_int_equal(state_make_folder(MPI_COMM_WORLD, dir, &why), STATE_OK);
    assert_int_equal(state_make_folder(MPI_COMM_WORLD, dir, &why), STATE_OK);
    assert_int_equal(state_list(MPI_COMM_WORLD, dir, &steps, &count), STATE_MISSING);
    assert_null(steps);
    const char *const names[] = { "step_0000000007.h5",     "step_0000000100.h5",  "step_0000000020.h5",
                                  "step_0000000300.h5.tmp", "step_0000000400.png", "step_500.h5",
                                  "step_00000000600.h5",    "xstep_0000000700.h5", "step_0000000800.h5x",
                                  "step_000000-900.h5" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) touch(dir, names[i]);
    assert_int_equal(state_list(MPI_COMM_WORLD, dir, &steps, &count), STATE_OK);
    assert_int_equal(count, 3);
    assert_int_equal(steps[0], 100);
    assert_int_equal(steps[1], 20);
    assert_int_equal(steps[2], 7);
    free(steps);
    apply(dir, (state_keep){ 0, 0 }, 100, 100);
    assert_true(is_there(dir, "step_0000000007.h5"));
    apply(dir, (state_keep){ 2, 0 }, 20, 20); /* step 100 is an earlier run's */
    assert_true(is_there(dir, "step_0000000007.h5"));
    apply(dir, (state_keep){ 1, 0 }, 20, 20);
    assert_false(is_there(dir, "step_0000000007.h5"));
    assert_true(is_there(dir, "step_0000000100.h5"));
    assert_true(is_there(dir, "step_0000000020.h5"));
    assert_true(is_there(dir, "step_0000000300.h5.tmp"));
    assert_true(is_there(dir, "step_500.h5"));
}

/* Half a list would have a run go on from an older checkpoint, and an empty one from the start. */
static void half_a_list_is_none(void **unused)
{
    char dir[FIXTURE_PATH_BYTES + 32];
    int64_t *steps;
    size_t count;
    snprintf(dir, sizeof dir, "%s/half", folder);
    assert_int_equal(state_make_folder(MPI_COMM_WORLD, dir, &why), STATE_OK);
    for (int i = 0; i < 9; i++) {
        char name[32];
        snprintf(name, sizeof name, "step_%010d.h5", i);
        touch(dir, name);
    }
    for (int names = 1; names < 12; names += 5) {
        names_until_error = names;
        const state_status status = state_list(MPI_COMM_WORLD, dir, &steps, &count);
        names_until_error = -1;
        assert_int_equal(status, STATE_IO);
        assert_null(steps);
    }
}

static void writes_in_turn(bool async)
{
    char dir[FIXTURE_PATH_BYTES + 32];
    state_status status;
    snprintf(dir, sizeof dir, "%s/%s", folder, async ? "beside" : "turn");
    sentence note;
    const state_writer_options o = {
        .folder = dir, .keep = { 2, 0 }, .async = async, .writers = fixture_ranks(MPI_COMM_WORLD)
    };
    state_writer *w = state_writer_create(MPI_COMM_WORLD, &o, &status, &note, &why);
    assert_int_equal(status, STATE_OK);
    touch(dir, "step_0000000030.h5.tmp"); /* what other runs may call their files meanwhile is not touched */
    touch(dir, "step_0000000099.h5.tmp");
    touch(dir, "step_0000000050.h5"); /* of a run that came further: what this one writes must not go for
                                       * it */
    touch(dir, "step_0000000060.h5");
    for (int64_t step = 10; step <= 30; step += 10) {
        state_level s = fixture_state(MPI_COMM_WORLD, 20, 10, DTYPE_F32, step);
        const state_request request = { &s, NULL, NULL, NULL };
        assert_int_equal(state_writer_begin(w, &request, &why), STATE_OK);
        assert_int_equal(state_writer_wait(w, &why), STATE_OK);
        free(s.field[0].data);
    }
    const state_stats stats = state_writer_stats(w);
    assert_int_equal(stats.count, 3);
    assert_int_equal(stats.bytes, 3 * 20 * 10 * 4);
    assert_int_equal(stats.async, async);
    assert_true(stats.write_s > 0 && stats.stall_s >= stats.write_s);
    state_writer_destroy(&w);
    assert_null(w);
    state_writer_destroy(&w);

    assert_false(is_there(dir, "step_0000000010.h5"));
    assert_int_equal(fixture_left(dir), 2); /* the two of others: no parts of step 10 */
    assert_true(is_there(dir, "step_0000000050.h5"));
    assert_true(is_there(dir, "step_0000000030.h5.tmp"));
    assert_true(is_there(dir, "step_0000000099.h5.tmp"));
    char path[FIXTURE_PATH_BYTES + 64];
    state_path(path, sizeof path, dir, 30);
    state_level s = fixture_state(MPI_COMM_WORLD, 20, 10, DTYPE_F32, 0);
    assert_int_equal(fixture_load(MPI_COMM_WORLD, path, &s, &why), STATE_OK);
    assert_int_equal(s.step, 30);
    free(s.field[0].data);
}

static void writes_as_it_goes(void **unused)
{
    writes_in_turn(false);
    writes_in_turn(true);
}

static void keeps(const char *dir, const int64_t *steps, const char *there)
{
    char name[64];
    for (size_t i = 0; there[i]; i++) {
        snprintf(name, sizeof name, "step_%010lld.h5", (long long)steps[i]);
        if (is_there(dir, name) != (there[i] == 'x')) fail_msg("step %lld of %s", (long long)steps[i], there);
    }
}

static void milestones_and_the_last_verified(void **unused)
{
    const int64_t steps[] = { 10, 20, 25, 30, 40, 50, 60, 90 };
    char dir[FIXTURE_PATH_BYTES + 32], name[64];
    snprintf(dir, sizeof dir, "%s/milestones", folder);
    assert_int_equal(state_make_folder(MPI_COMM_WORLD, dir, &why), STATE_OK);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        snprintf(name, sizeof name, "step_%010lld.h5", (long long)steps[i]);
        touch(dir, name);
    }
    apply(dir, (state_keep){ 0, 30 }, 60, 60); /* all */
    keeps(dir, steps, "xxxxxxxx");
    apply(dir, (state_keep){ 2, 30 }, 60, 25); /* 60 50; 30; 25; 90 is another run's */
    keeps(dir, steps, "__xx_xxx");
    apply(dir, (state_keep){ 1, 0 }, 60, 25);
    keeps(dir, steps, "__x___xx");
    apply(dir, (state_keep){ 1, 0 }, 60, STATE_NONE_VERIFIED);
    keeps(dir, steps, "______xx");
}

/* Of this problem there are steps 10 20 50; the others stand between and below. */
static void of_others(void **unused)
{
    const int64_t steps[] = { 5, 10, 20, 30, 40, 50 };
    const int64_t whose[] = { 8, 7, 7, 8, 0, 7 };
    char dir[FIXTURE_PATH_BYTES + 32], name[64];
    snprintf(dir, sizeof dir, "%s/others", folder);
    assert_int_equal(state_make_folder(MPI_COMM_WORLD, dir, &why), STATE_OK);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        snprintf(name, sizeof name, "step_%010lld.h5", (long long)steps[i]);
        problem = whose[i];
        touch(dir, name);
    }
    problem = 7;
    apply(dir, (state_keep){ 2, 0 }, 50, STATE_NONE_VERIFIED);
    keeps(dir, steps, "x_xxxx");
}

/* ---- what a killed run leaves ---- */

static char *one_attempt(const char *dir, char name[STATE_NAME_BYTES])
{
    DIR *d = opendir(dir);
    for (const struct dirent *e; (e = readdir(d));)
        if (strncmp(e->d_name, "step_", 5) == 0 && strlen(e->d_name) == 5 + 10 + 9)
            snprintf(name, STATE_NAME_BYTES, "%s", e->d_name);
    closedir(d);
    return name;
}

static void copy_attempt(const char *dir, const char *from, const char *to)
{
    char command[4 * FIXTURE_PATH_BYTES];
    snprintf(command, sizeof command, "cp -r '%s/%s' '%s/%s'", dir, from, dir, to);
    if (fixture_rank(MPI_COMM_WORLD) == 0 && system(command) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Barrier(MPI_COMM_WORLD);
}

static state_writer *take_folder(const char *dir, sentence *note)
{
    state_status status;
    const state_writer_options o = { .folder = dir, .writers = fixture_ranks(MPI_COMM_WORLD) };
    state_writer *w = state_writer_create(MPI_COMM_WORLD, &o, &status, note, &why);
    if (status != STATE_OK) fail_msg("%s", why.text);
    return w;
}

/* Attempts with a mark that no index names go; that of an index stays, and so does a folder of like name. */
static void leftovers_of_a_dead_run(void **unused)
{
    static const char *const gone[] = { "step_0000000030.00000001", "step_0000000040.00000002" };
    static const char *const stays[] = { "step_0000000050.00000003", "other.00000004", "step_30.00000005" };
    char dir[FIXTURE_PATH_BYTES + 32], path[FIXTURE_PATH_BYTES + 64], attempt[STATE_NAME_BYTES] = "",
                                                                      mark[400];
    sentence note;
    snprintf(dir, sizeof dir, "%s/leftovers", folder);
    if (fixture_ranks(MPI_COMM_WORLD) == 1) return; /* a state of one part leaves no folder */
    state_writer *w = take_folder(dir, &note);
    state_level s = fixture_state(MPI_COMM_WORLD, 20, 10, DTYPE_F32, 30);
    assert_int_equal(state_writer_begin(w, &(state_request){ .level = &s }, &why), STATE_OK);
    state_writer_destroy(&w);
    free(s.field[0].data);
    one_attempt(dir, attempt);
    snprintf(mark, sizeof mark, "%s/unfinished", attempt);
    assert_false(is_there(dir, mark));
    for (int i = 0; i < 2; i++) copy_attempt(dir, attempt, gone[i]);
    for (int i = 0; i < 3; i++) copy_attempt(dir, attempt, stays[i]);
    problem = 0;
    touch(dir, mark); /* killed between the index's name and the end of the mark */
    touch(dir, "step_0000000030.00000001/unfinished"); /* the same step once more */
    touch(dir, "step_0000000040.00000002/unfinished"); /* before its index */
    touch(dir, "step_0000000040.00000002/notes");      /* somebody's */
    touch(dir, "other.00000004/unfinished");           /* another run's output.final */
    touch(dir, "step_30.00000005/unfinished");
    problem = 7;
    w = take_folder(dir, &note);
    state_writer_destroy(&w);
    assert_false(is_there(dir, gone[0]));
    assert_false(is_there(dir, "step_0000000040.00000002/0.h5"));
    assert_true(is_there(dir, "step_0000000040.00000002/notes"));
    for (int i = 0; i < 3; i++) assert_true(is_there(dir, stays[i]));
    assert_true(is_there(dir, attempt));
    assert_false(is_there(dir, mark));
    state_report r;
    state_path(path, sizeof path, dir, 30);
    assert_int_equal(fixture_verify(MPI_COMM_WORLD, path, &r, &why), STATE_OK);
}

STATE_TESTS(NULL, cmocka_unit_test(lists), cmocka_unit_test(half_a_list_is_none),
            cmocka_unit_test(writes_as_it_goes), cmocka_unit_test(milestones_and_the_last_verified),
            cmocka_unit_test(of_others), cmocka_unit_test(leftovers_of_a_dead_run))
