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

static char dir[FIXTURE_PATH_BYTES + 32]; /* of this test */
static int64_t problem = 7; /* of how many columns the states are that are made; 0: what is none */

static void make_dir(const char *name)
{
    snprintf(dir, sizeof dir, "%s/%s", folder, name);
    assert_int_equal(state_make_folder(MPI_COMM_WORLD, dir, &why), STATE_OK);
}

static state_info one_part(int64_t step)
{
    static state_part part;
    return (state_info){ .kind = "heat",
                         .step = step,
                         .fields = 1,
                         .parts = 1,
                         .part = &part,
                         .field = { { "u", problem, 1, 0 } } };
}

static char *in_dir(const char *name)
{
    static char path[sizeof dir + 400];
    snprintf(path, sizeof path, "%s/%.390s", dir, name);
    return path;
}

static void touch(const char *name)
{
    if (fixture_rank(MPI_COMM_WORLD) == 0) {
        FILE *f = fopen(in_dir(name), "w");
        fputs("not a checkpoint", f);
        fclose(f);
        state_info s = one_part(0);
        if (problem) must(state_index_end(in_dir(name), &s) == 0, name);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static const char *step_name(int64_t step)
{
    static char name[32];
    snprintf(name, sizeof name, "step_%010lld.h5", (long long)step);
    return name;
}

static bool is_there(const char *name)
{
    const bool here = access(in_dir(name), F_OK) == 0;
    MPI_Barrier(MPI_COMM_WORLD);
    return here;
}

static void apply(state_keep rule, int64_t last, int64_t verified)
{
    state_info s = one_part(last);
    if (fixture_rank(MPI_COMM_WORLD) == 0) state_keep_apply(dir, rule, &s, verified);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void lists(void **unused)
{
    const char *const names[] = { "step_0000000007.h5",     "step_0000000100.h5",  "step_0000000020.h5",
                                  "step_0000000300.h5.tmp", "step_0000000400.png", "step_500.h5",
                                  "step_00000000600.h5",    "xstep_0000000700.h5", "step_0000000800.h5x",
                                  "step_000000-900.h5" };
    int64_t *steps;
    size_t count;
    snprintf(dir, sizeof dir, "%s/new/list", folder);
    assert_int_equal(state_list(MPI_COMM_WORLD, dir, &steps, &count), STATE_MISSING);
    make_dir("new/list");
    make_dir("new/list");
    assert_int_equal(state_list(MPI_COMM_WORLD, dir, &steps, &count), STATE_MISSING);
    assert_null(steps);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) touch(names[i]);
    assert_int_equal(state_list(MPI_COMM_WORLD, dir, &steps, &count), STATE_OK);
    assert_true(count == 3 && steps[0] == 100 && steps[1] == 20 && steps[2] == 7);
    free(steps);
    apply((state_keep){ 1, 0 }, 20, 20); /* step 100 is an earlier run's */
    assert_false(is_there(names[0]));
    for (size_t i = 1; i < sizeof names / sizeof names[0]; i++) assert_true(is_there(names[i]));
}

/* Half a list would have a run go on from an older checkpoint, and an empty one from the start. */
static void half_a_list_is_none(void **unused)
{
    int64_t *steps;
    size_t count;
    make_dir("half");
    for (int i = 0; i < 9; i++) touch(step_name(i));
    for (int names = 1; names < 12; names += 5) {
        names_until_error = names;
        const state_status status = state_list(MPI_COMM_WORLD, dir, &steps, &count);
        names_until_error = -1;
        assert_int_equal(status, STATE_IO);
        assert_null(steps);
    }
}

/* ---- which ones stay: x, of steps of which 90 is a run's that came further ---- */

static void keeps(const int64_t *steps, const char *there)
{
    for (size_t i = 0; there[i]; i++)
        if (is_there(step_name(steps[i])) != (there[i] == 'x'))
            fail_msg("step %lld of %s", (long long)steps[i], there);
}

static void milestones_and_the_last_verified(void **unused)
{
    const int64_t steps[] = { 10, 20, 25, 30, 40, 50, 60, 90 };
    make_dir("milestones");
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) touch(step_name(steps[i]));
    apply((state_keep){ 0, 30 }, 60, 60); /* all */
    keeps(steps, "xxxxxxxx");
    apply((state_keep){ 2, 30 }, 60, 25); /* 60 50; 30; 25 */
    keeps(steps, "__xx_xxx");
    apply((state_keep){ 1, 0 }, 60, 25);
    keeps(steps, "__x___xx");
    apply((state_keep){ 1, 0 }, 60, STATE_NONE_VERIFIED);
    keeps(steps, "______xx");
}

/* Of this problem there are steps 10 20 50; the others stand between and below. */
static void of_others(void **unused)
{
    const int64_t steps[] = { 5, 10, 20, 30, 40, 50 };
    const int64_t whose[] = { 8, 7, 7, 8, 0, 7 };
    make_dir("others");
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        problem = whose[i];
        touch(step_name(steps[i]));
    }
    problem = 7;
    apply((state_keep){ 2, 0 }, 50, STATE_NONE_VERIFIED);
    keeps(steps, "x_xxxx");
}

/* ---- runs that write there ---- */

static state_writer *take_folder(bool async)
{
    state_status status;
    sentence note;
    const state_writer_options o = {
        .folder = dir, .keep = { 2, 0 }, .async = async, .writers = fixture_ranks(MPI_COMM_WORLD)
    };
    state_writer *w = state_writer_create(MPI_COMM_WORLD, &o, &status, &note, &why);
    if (status != STATE_OK) fail_msg("%s", why.text);
    return w;
}

static void write_step(state_writer *w, int64_t step)
{
    state_level s = fixture_state(MPI_COMM_WORLD, 20, 10, DTYPE_F32, step);
    assert_int_equal(state_writer_begin(w, &(state_request){ .level = &s }, &why), STATE_OK);
    assert_int_equal(state_writer_wait(w, &why), STATE_OK);
    free(s.field[0].data);
}

static void writes_as_it_goes(void **unused)
{
    for (int async = 0; async < 2; async++) {
        make_dir(async ? "beside" : "turn");
        state_writer *w = take_folder(async);
        touch("step_0000000030.h5.tmp"); /* what other runs may call their files meanwhile is not touched */
        touch("step_0000000050.h5");     /* of a run that came further */
        touch("step_0000000060.h5");
        for (int64_t step = 10; step <= 30; step += 10) write_step(w, step);
        const state_stats stats = state_writer_stats(w);
        assert_true(stats.count == 3 && stats.bytes == 3 * 20 * 10 * 4 && stats.async == async);
        assert_true(stats.write_s > 0 && stats.stall_s >= stats.write_s);
        state_writer_destroy(&w);
        assert_null(w);
        state_writer_destroy(&w);
        keeps((const int64_t[]){ 10, 20, 30, 50, 60 }, "_xxxx");
        assert_int_equal(fixture_left(dir), 1); /* that of others: no parts of step 10 */
        state_level s = fixture_state(MPI_COMM_WORLD, 20, 10, DTYPE_F32, 0);
        assert_int_equal(fixture_load(MPI_COMM_WORLD, in_dir(step_name(30)), &s, &why), STATE_OK);
        assert_int_equal(s.step, 30);
        free(s.field[0].data);
    }
}

/* Attempts with a mark that no index names go; that of an index stays, and so does a folder of like name.
 * Files that are not weft's keep their folder and the mark. */
static void leftovers_of_a_dead_run(void **unused)
{
    static const char *const stays[] = { "step_0000000050.00000003", "other.00000004", "step_30.00000005" };
    static const char make[] = "cd '%s' && for n in step_0000000050.00000003 other.00000004 step_30.00000005 "
                               "step_0000000040.00000002; do cp -r step_0000000030.???????? $n; done && "
                               "mkdir step_0000000030.00000001 step_0000000035.00000006";
    state_info s;
    char mark[STATE_NAME_BYTES + 32], command[sizeof make + sizeof dir];
    if (fixture_ranks(MPI_COMM_WORLD) == 1) return; /* a state of one part leaves no folder */
    make_dir("leftovers");
    state_writer *w = take_folder(false);
    write_step(w, 30);
    state_writer_destroy(&w);
    assert_int_equal(state_index_read(in_dir(step_name(30)), &s, &why), STATE_OK);
    state_close(&s);
    snprintf(mark, sizeof mark, "%s/unfinished", s.folder);
    assert_false(is_there(mark));
    snprintf(command, sizeof command, make, dir);
    if (fixture_rank(MPI_COMM_WORLD) == 0) must(system(command) == 0, command);
    problem = 0;
    touch(mark); /* killed between the index's name and the end of the mark */
    touch("step_0000000030.00000001/unfinished"); /* the same step once more */
    touch("step_0000000040.00000002/unfinished"); /* before its index */
    touch("step_0000000040.00000002/.nfs1");      /* a deleted file that is still open */
    touch("other.00000004/unfinished");           /* another run's output.final */
    touch("step_30.00000005/unfinished");
    problem = 7;
    w = take_folder(false);
    state_writer_destroy(&w);
    assert_false(is_there("step_0000000030.00000001") || is_there("step_0000000035.00000006"));
    assert_false(is_there("step_0000000040.00000002/0.h5"));
    assert_true(is_there("step_0000000040.00000002/.nfs1") &&
                is_there("step_0000000040.00000002/unfinished"));
    for (int i = 0; i < 3; i++) assert_true(is_there(stays[i]));
    assert_true(is_there(s.folder));
    assert_false(is_there(mark));
    state_report r;
    assert_int_equal(fixture_verify(MPI_COMM_WORLD, in_dir(step_name(30)), &r, &why), STATE_OK);
}

/* a and a.h5 have attempts of the same names. */
static void one_lock_for_a_name(void **unused)
{
    static const char *const names[] = { "a.h5", "a" };
    char path[2][sizeof folder + 16];
    state_writer *w[2];
    state_status status[2];
    sentence note;
    for (int i = 0; i < 2; i++) {
        snprintf(path[i], sizeof path[i], "%s/%s", folder, names[i]);
        w[i] = state_writer_create(MPI_COMM_WORLD, &(state_writer_options){ .file = path[i] }, &status[i],
                                   &note, &why);
    }
    assert_true(w[0] && !w[1] && status[1] == STATE_BUSY);
    state_writer_destroy(&w[0]);
}

STATE_TESTS(NULL, cmocka_unit_test(lists), cmocka_unit_test(half_a_list_is_none),
            cmocka_unit_test(writes_as_it_goes), cmocka_unit_test(milestones_and_the_last_verified),
            cmocka_unit_test(of_others), cmocka_unit_test(leftovers_of_a_dead_run),
            cmocka_unit_test(one_lock_for_a_name))
