/* A folder of states lists them newest first and keeps as many as asked. Milestones and the last verified one
 * stay besides; what a dead run left half written goes when a run takes the folder, and nothing else.
 * ranks: 1 3 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

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
    assert_int_equal(state_make_folder(dir, &why), STATE_OK);
}

static state_info one_part(int64_t step)
{
    static state_part part;
    const state_field u = { "u", problem, 1, 0 };
    return (
        state_info){ .kind = "heat", .step = step, .fields = 1, .parts = 1, .part = &part, .field = { u } };
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

static bool is_there(const char *name) { return access(in_dir(name), F_OK) == 0; }

static void apply(state_keep rule, int64_t last, int64_t verified)
{
    const state_info s = one_part(last);
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
    for (int i = 0; i < 2; i++) { /* no folder, none in it */
        assert_int_equal(state_list(MPI_COMM_WORLD, dir, &steps, &count), STATE_MISSING);
        assert_null(steps);
        make_dir("new/list");
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) touch(names[i]);
    assert_int_equal(state_list(MPI_COMM_WORLD, dir, &steps, &count), STATE_OK);
    assert_true(count == 3 && steps[0] == 100 && steps[1] == 20 && steps[2] == 7);
    free(steps);
    apply((state_keep){ 1, 0 }, 20, 20); /* step 100 is an earlier run's */
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) assert_true(is_there(names[i]) == (i > 0));
    for (int until = 1; until < 4; until++) { /* by half a list a run goes on from an older checkpoint */
        names_until_error = until;
        const state_status status = state_list(MPI_COMM_WORLD, dir, &steps, &count);
        names_until_error = -1;
        assert_true(status == STATE_IO && !steps);
    }
}

/* Owners of states: m this problem, o another one, - none; x: the state stays. */
static void which_ones_stay(void **unused)
{
    static const struct {
        state_keep rule;
        int64_t verified, steps[9];
        const char *whose, *stay;
    } cases[] = {
        { { 0, 30 }, 60, { 10, 20, 25, 30, 40, 50, 60, 90 }, "mmmmmmmm", "xxxxxxxx" },
        { { 2, 30 }, 25, { 10, 20, 25, 30, 40, 50, 60, 90 }, "mmmmmmmm", "__xx_xxx" },
        { { 1, 0 }, 25, { 10, 20, 25, 30, 40, 50, 60, 90 }, "mmmmmmmm", "__x___xx" },
        { { 1, 0 }, STATE_NONE_VERIFIED, { 25, 50, 60, 90 }, "mmmm", "__xx" },
        { { 2, 0 }, STATE_NONE_VERIFIED, { 5, 10, 20, 30, 40, 50 }, "ommo-m", "x_xxxx" },
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char name[16];
        snprintf(name, sizeof name, "stay%zu", c);
        make_dir(name);
        for (int i = 0; cases[c].whose[i]; i++) {
            problem = cases[c].whose[i] == 'm' ? 7 : cases[c].whose[i] == 'o' ? 8 : 0;
            touch(step_name(cases[c].steps[i]));
        }
        problem = 7;
        apply(cases[c].rule, 60, cases[c].verified);
        for (int i = 0; cases[c].stay[i]; i++)
            if (is_there(step_name(cases[c].steps[i])) != (cases[c].stay[i] == 'x'))
                fail_msg("%s: step %lld", name, (long long)cases[c].steps[i]);
    }
}

/* Attempts with a mark that no index names go; that of an index stays, and so does a folder of like name.
 * Files that are not weft's keep their folder and the mark. */
static void leftovers_of_a_dead_run(void **unused)
{
    static const char make[] =
        "cd '%s' && "
        "for n in step_0000000050.00000003 other.00000004 step_30.00000005 step_0000000040.00000002; do "
        "cp -r step_0000000030.???????? $n; done && "
        /* the same step once more; no mark yet */
        "mkdir step_0000000030.00000001 step_0000000035.00000006 && "
        "touch step_0000000030.00000001/unfinished other.00000004/unfinished step_30.00000005/unfinished && "
        /* before its index, with a deleted file that is still open */
        "touch step_0000000040.00000002/unfinished step_0000000040.00000002/.nfs1 && "
        "touch %s/unfinished"; /* killed between the index's name and the end of the mark */
    static const char *const stays[] = { "step_0000000050.00000003", "other.00000004", "step_30.00000005",
                                         "step_0000000040.00000002/.nfs1",
                                         "step_0000000040.00000002/unfinished" };
    static const char *const goes[] = { "step_0000000030.00000001", "step_0000000035.00000006",
                                        "step_0000000040.00000002/0.h5" };
    state_info s;
    char mark[STATE_NAME_BYTES + 32], command[sizeof make + sizeof dir + sizeof s.folder];
    const int ranks = fixture_ranks(MPI_COMM_WORLD);
    const state_writer_options o = { .folder = dir, .writers = ranks };
    if (ranks == 1) return; /* a state of one part leaves no folder */
    make_dir("leftovers");
    state_level l = fixture_state(MPI_COMM_WORLD, 20, 10, DTYPE_F32, 30);
    state_writer *w = fixture_writer(&o);
    assert_int_equal(fixture_go(w, &l, &why), STATE_OK);
    state_writer_destroy(&w);
    state_writer_destroy(&w);
    free(l.field[0].data);
    assert_int_equal(state_index_read(in_dir(step_name(30)), &s, &why), STATE_OK);
    state_close(&s);
    snprintf(mark, sizeof mark, "%s/unfinished", s.folder);
    assert_false(is_there(mark));
    snprintf(command, sizeof command, make, dir, s.folder);
    fixture_shell(command);
    w = fixture_writer(&o);
    state_writer_destroy(&w);
    for (int i = 0; i < 5; i++) assert_true(is_there(stays[i]));
    for (int i = 0; i < 3; i++) assert_false(is_there(goes[i]));
    assert_true(is_there(s.folder) && !is_there(mark));
    state_report r;
    assert_int_equal(fixture_verify(MPI_COMM_WORLD, in_dir(step_name(30)), &r, &why), STATE_OK);
}

STATE_TESTS(NULL, cmocka_unit_test(lists), cmocka_unit_test(which_ones_stay),
            cmocka_unit_test(leftovers_of_a_dead_run))
