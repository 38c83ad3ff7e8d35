/* A folder of states lists them newest first and keeps as many as asked. Milestones and the last verified one
 * stay besides; what a dead run left half written goes when a run takes the folder, and nothing else.
 * ranks: 1 3 */
#include <fcntl.h>

#include "state/state_index.h"
#include "support/state_tests.h"

static char dir[FIXTURE_PATH_BYTES + 32]; /* of this test */

static void make_dir(const char *name)
{
    snprintf(dir, sizeof dir, "%s/%s", folder, name);
    assert_int_equal(state_make_folder(dir, &why), STATE_OK);
}

static char *in_dir(const char *name)
{
    static char path[sizeof dir + 400];
    snprintf(path, sizeof path, "%s/%.390s", dir, name);
    return path;
}

static bool is_there(const char *name) { return access(in_dir(name), F_OK) == 0; }

static state_info of_columns(int64_t columns, int64_t step)
{
    static state_part part;
    const state_field u = { "u", columns, 1, 0 };
    return (state_info){ .kind = "heat", .step = step, .fields = 1, .parts = 1, .field = { u },
                         .part = &part, .rest_bytes = sizeof part };
}

/* A state of that many columns; 0: what is none. */
static void put(const char *name, int64_t columns)
{
    if (rank == 0) {
        state_info s = of_columns(columns, 0);
        must(close(creat(in_dir(name), 0644)) == 0, name);
        must(!columns || state_index_end(in_dir(name), &s) == 0, name);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void apply(state_keep rule, int64_t last, int64_t verified)
{
    const state_info s = of_columns(7, last);
    if (rank == 0) state_keep_apply(dir, rule, &s, verified);
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
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) put(names[i], 7);
    assert_int_equal(state_list(MPI_COMM_WORLD, dir, &steps, &count), STATE_OK);
    assert_true(count == 3 && steps[0] == 100 && steps[1] == 20 && steps[2] == 7);
    free(steps);
    apply((state_keep){ 1, 0 }, 20, 20); /* step 100 is an earlier run's */
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) assert_true(is_there(names[i]) == (i > 0));
    fixture_shell(folder, "ln -s loop loop"); /* what cannot be read is not empty */
    snprintf(dir, sizeof dir, "%s/loop", folder);
    assert_int_equal(state_list(MPI_COMM_WORLD, dir, &steps, &count), STATE_IO);
    assert_null(steps);
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
        char name[16], path[FIXTURE_STEP_BYTES];
        snprintf(name, sizeof name, "stay%zu", c);
        make_dir(name);
        for (int i = 0; cases[c].whose[i]; i++) {
            fixture_step(path, name, cases[c].steps[i]);
            put(basename(path), cases[c].whose[i] == 'm' ? 7 : cases[c].whose[i] == 'o' ? 8 : 0);
        }
        apply(cases[c].rule, 60, cases[c].verified);
        for (int i = 0; cases[c].stay[i]; i++)
            if (fixture_step(path, name, cases[c].steps[i]) != (cases[c].stay[i] == 'x'))
                fail_msg("%s: step %lld", name, (long long)cases[c].steps[i]);
    }
}

/* Attempts with a mark that no index names go; that of an index stays, and so does a folder of like name.
 * Files that are not weft's keep their folder and the mark. */
static void leftovers_of_a_dead_run(void **unused)
{
    static const char make[] =
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
    char mark[STATE_NAME_BYTES + 32], name[] = "step_0000000030.h5";
    const state_writer_options o = { .folder = dir, .writers = ranks };
    state_info s;
    state_report r;
    if (ranks == 1) return; /* a state of one part leaves no folder */
    make_dir("leftovers");
    state_level l = fixture_state(20, 10, DTYPE_F32, 30);
    fixture_write(&o, &l);
    free(l.field[0].data);
    assert_int_equal(state_index_head(in_dir(name), &s), STATE_OK);
    snprintf(mark, sizeof mark, "%s/unfinished", s.folder);
    assert_false(is_there(mark));
    fixture_shell(dir, make, s.folder);
    state_writer *w = fixture_writer(&o);
    state_writer_destroy(&w);
    for (int i = 0; i < 5; i++) assert_true(is_there(stays[i]));
    for (int i = 0; i < 3; i++) assert_false(is_there(goes[i]));
    assert_true(is_there(s.folder) && !is_there(mark));
    assert_int_equal(fixture_verify(in_dir(name), &r), STATE_OK);
}

STATE_TESTS(NULL, cmocka_unit_test(lists), cmocka_unit_test(which_ones_stay),
            cmocka_unit_test(leftovers_of_a_dead_run))
