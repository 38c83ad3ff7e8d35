/* A folder of checkpoints lists its whole files newest first, keeps as many as asked, and a stale NAME.tmp
 * hurts nothing. Milestones and the last verified one stay besides; leftovers of dead runs go when a run
 * takes the folder. ranks: 1 3 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "state/checkpoint.h"
#include "state/checkpoint_directory.h"
#include "support/checkpoint_fixture.h"
#include "writer/retain.h"
#include "writer/writer.h"

static sentence why;
static char folder[FIXTURE_PATH_BYTES];

static int names_until_error = -1; /* of folders that are read; -1: no error */

/* libc's, that fails when it is told to. */
struct dirent *readdir(DIR *d)
{
    if (names_until_error > 0) names_until_error--;
    if (names_until_error != 0) return ((struct dirent * (*)(DIR *)) dlsym(RTLD_NEXT, "readdir"))(d);
    errno = EIO;
    return NULL;
}

static void touch(const char *dir, const char *name)
{
    char path[2 * FIXTURE_PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    if (fixture_rank(MPI_COMM_WORLD) == 0) {
        FILE *f = fopen(path, "w");
        fputs("not a checkpoint", f);
        fclose(f);
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

static void apply(const char *dir, retain_rule rule, int64_t last, int64_t verified)
{
    if (fixture_rank(MPI_COMM_WORLD) == 0) retain_apply(dir, rule, last, verified);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void lists(void **state)
{
    (void)state;
    char dir[FIXTURE_PATH_BYTES + 32];
    int64_t *steps;
    size_t count;
    snprintf(dir, sizeof dir, "%s/new/list", folder);
    assert_int_equal(checkpoint_list(MPI_COMM_WORLD, dir, &steps, &count), CHECKPOINT_MISSING);
    assert_int_equal(checkpoint_make_dir(MPI_COMM_WORLD, dir, &why), CHECKPOINT_OK);
    assert_int_equal(checkpoint_make_dir(MPI_COMM_WORLD, dir, &why), CHECKPOINT_OK);
    assert_int_equal(checkpoint_list(MPI_COMM_WORLD, dir, &steps, &count), CHECKPOINT_MISSING);
    assert_null(steps);
    const char *const names[] = { "step_0000000007.h5",     "step_0000000100.h5",  "step_0000000020.h5",
                                  "step_0000000300.h5.tmp", "step_0000000400.xmf", "step_500.h5",
                                  "step_00000000600.h5",    "xstep_0000000700.h5", "step_0000000800.h5x",
                                  "step_000000-900.h5" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) touch(dir, names[i]);
    assert_int_equal(checkpoint_list(MPI_COMM_WORLD, dir, &steps, &count), CHECKPOINT_OK);
    assert_int_equal(count, 3);
    assert_int_equal(steps[0], 100);
    assert_int_equal(steps[1], 20);
    assert_int_equal(steps[2], 7);
    free(steps);
    apply(dir, (retain_rule){ 0, 0 }, 100, 100);
    assert_true(is_there(dir, "step_0000000007.h5"));
    apply(dir, (retain_rule){ 2, 0 }, 20, 20); /* step 100 is an earlier run's */
    assert_true(is_there(dir, "step_0000000007.h5"));
    apply(dir, (retain_rule){ 1, 0 }, 20, 20);
    assert_false(is_there(dir, "step_0000000007.h5"));
    assert_true(is_there(dir, "step_0000000100.h5"));
    assert_true(is_there(dir, "step_0000000020.h5"));
    assert_true(is_there(dir, "step_0000000300.h5.tmp"));
    assert_true(is_there(dir, "step_500.h5"));
}

/* Half a list would have a run go on from an older checkpoint, and an empty one from the start. */
static void half_a_list_is_none(void **state)
{
    (void)state;
    char dir[FIXTURE_PATH_BYTES + 32];
    int64_t *steps;
    size_t count;
    snprintf(dir, sizeof dir, "%s/half", folder);
    assert_int_equal(checkpoint_make_dir(MPI_COMM_WORLD, dir, &why), CHECKPOINT_OK);
    for (int i = 0; i < 9; i++) {
        char name[32];
        snprintf(name, sizeof name, "step_%010d.h5", i);
        touch(dir, name);
    }
    for (int names = 1; names < 12; names += 5) {
        names_until_error = names;
        const checkpoint_status status = checkpoint_list(MPI_COMM_WORLD, dir, &steps, &count);
        names_until_error = -1;
        assert_int_equal(status, CHECKPOINT_IO);
        assert_null(steps);
    }
}

static void writes_in_turn(bool async)
{
    char dir[FIXTURE_PATH_BYTES + 32];
    checkpoint_status status;
    snprintf(dir, sizeof dir, "%s/%s", folder, async ? "beside" : "turn");
    writer *w = writer_create(MPI_COMM_WORLD, dir, (retain_rule){ 2, 0 }, async, &status, &why);
    assert_int_equal(status, CHECKPOINT_OK);
    touch(dir, "step_0000000030.h5.tmp"); /* what other runs may call their files meanwhile is not touched */
    touch(dir, "step_0000000099.h5.tmp");
    touch(dir, "step_0000000050.h5"); /* of a run that came further: what this one writes must not go for
                                       * it */
    touch(dir, "step_0000000060.h5");
    for (int64_t step = 10; step <= 30; step += 10) {
        checkpoint_state s = fixture_state(MPI_COMM_WORLD, 20, 10, DTYPE_F32, step);
        const writer_request request = { &s, fixture_ready, NULL, NULL };
        assert_int_equal(writer_submit(w, &request, &why), CHECKPOINT_OK);
        assert_int_equal(writer_wait(w, &why), CHECKPOINT_OK);
        free(s.field[0].data);
    }
    const writer_stats stats = writer_get_stats(w);
    assert_int_equal(stats.count, 3);
    assert_int_equal(stats.bytes, 3 * 20 * 10 * 4);
    assert_int_equal(stats.async, async);
    assert_true(stats.write_s > 0 && stats.stall_s >= stats.write_s);
    writer_destroy(&w);
    assert_null(w);
    writer_destroy(&w);

    assert_false(is_there(dir, "step_0000000010.h5"));
    assert_false(is_there(dir, "step_0000000010.xmf"));
    assert_true(is_there(dir, "step_0000000020.xmf"));
    assert_true(is_there(dir, "step_0000000050.h5"));
    assert_true(is_there(dir, "step_0000000030.h5.tmp"));
    assert_true(is_there(dir, "step_0000000099.h5.tmp"));
    char path[FIXTURE_PATH_BYTES + 64];
    checkpoint_path(path, sizeof path, dir, 30);
    checkpoint_state s = fixture_state(MPI_COMM_WORLD, 20, 10, DTYPE_F32, 0);
    assert_int_equal(checkpoint_read(MPI_COMM_WORLD, path, &s, &why), CHECKPOINT_OK);
    assert_int_equal(s.step, 30);
    free(s.field[0].data);
}

static void in_the_foreground(void **state)
{
    (void)state;
    writes_in_turn(false);
}

static void in_the_background(void **state)
{
    (void)state;
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

static void milestones_and_the_last_verified(void **state)
{
    (void)state;
    const int64_t steps[] = { 10, 20, 25, 30, 40, 50, 60, 90 };
    char dir[FIXTURE_PATH_BYTES + 32], name[64];
    snprintf(dir, sizeof dir, "%s/milestones", folder);
    assert_int_equal(checkpoint_make_dir(MPI_COMM_WORLD, dir, &why), CHECKPOINT_OK);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        snprintf(name, sizeof name, "step_%010lld.h5", (long long)steps[i]);
        touch(dir, name);
    }
    apply(dir, (retain_rule){ 0, 30 }, 60, 60); /* all */
    keeps(dir, steps, "xxxxxxxx");
    apply(dir, (retain_rule){ 2, 30 }, 60, 25); /* 60 50; 30; 25; 90 is another run's */
    keeps(dir, steps, "__xx_xxx");
    apply(dir, (retain_rule){ 1, 0 }, 60, 25);
    keeps(dir, steps, "__x___xx");
    apply(dir, (retain_rule){ 1, 0 }, 60, RETAIN_NONE_VERIFIED);
    keeps(dir, steps, "______xx");
}

static void leftovers_of_dead_runs(void **state)
{
    (void)state;
    const char *const ours[] = { "step_0000000030.h5.tmp", "step_0000000030.xmf.tmp",
                                 "step_0000000030.h5.tmp.00000000000000f0",
                                 "step_0000000030.xmf.tmp.0123456789abcdef",
                                 "series.xmf.tmp.0123456789abcdef" };
    const char *const others[] = { "step_30.h5.tmp",
                                   "step_0000000030.h5.tmp2",
                                   "step_0000000030.tmp",
                                   "notes.tmp",
                                   "step_0000000030.h5.tmp.0123456789abcde",
                                   "step_0000000030.h5.tmp.0123456789abcdeg",
                                   "step_0000000030.h5.tmp.0123456789ABCDEF",
                                   "step_0000000020.h5" };
    char dir[FIXTURE_PATH_BYTES + 32];
    snprintf(dir, sizeof dir, "%s/leftovers", folder);
    assert_int_equal(checkpoint_make_dir(MPI_COMM_WORLD, dir, &why), CHECKPOINT_OK);
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) touch(dir, ours[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) touch(dir, others[i]);
    assert_int_equal(retain_clean(MPI_COMM_WORLD, dir), sizeof ours / sizeof *ours);
    assert_int_equal(retain_clean(MPI_COMM_WORLD, dir), 0);
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) assert_false(is_there(dir, ours[i]));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) assert_true(is_there(dir, others[i]));
}

/* Links under the names that a write uses lead to a file of somebody's: it stays as it is. */
static void links_are_not_followed(void **state)
{
    (void)state;
    char dir[FIXTURE_PATH_BYTES + 32], file[FIXTURE_PATH_BYTES + 64], link[FIXTURE_PATH_BYTES + 64];
    const char *const names[] = { "linked.h5.tmp", "linked.h5.tmp.0123456789abcdef", "linked.h5",
                                  "linked.xmf" };
    struct stat info;
    checkpoint_state s = fixture_state(MPI_COMM_WORLD, 12, 9, DTYPE_F64, 3);
    snprintf(dir, sizeof dir, "%s/links", folder);
    snprintf(file, sizeof file, "%s/somebody_s", folder);
    assert_int_equal(checkpoint_make_dir(MPI_COMM_WORLD, dir, &why), CHECKPOINT_OK);
    if (fixture_rank(MPI_COMM_WORLD) == 0) {
        FILE *f = fopen(file, "w");
        fputs("precious", f);
        fclose(f);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            snprintf(link, sizeof link, "%s/%s", dir, names[i]);
            assert_int_equal(symlink(file, link), 0);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    snprintf(link, sizeof link, "%s/linked.h5", dir);
    const checkpoint_status status = checkpoint_write(MPI_COMM_WORLD, link, &s, NULL, &why);
    if (status != CHECKPOINT_OK) fail_msg("%s", why.text);
    assert_true(lstat(file, &info) == 0 && info.st_size == 8);
    for (size_t i = 2; i < sizeof names / sizeof *names; i++) {
        snprintf(link, sizeof link, "%s/%s", dir, names[i]);
        assert_true(lstat(link, &info) == 0 && S_ISREG(info.st_mode) &&
                    (info.st_mode & (S_IWGRP | S_IWOTH)) == 0);
    }
    free(s.field[0].data);
}

static void unusable_folder(void **state)
{
    (void)state;
    char dir[FIXTURE_PATH_BYTES + 32];
    checkpoint_status status;
    touch(folder, "file");
    snprintf(dir, sizeof dir, "%s/file", folder);
    assert_null(writer_create(MPI_COMM_WORLD, dir, (retain_rule){ 2, 0 }, true, &status, &why));
    assert_int_equal(status, CHECKPOINT_IO);
    assert_non_null(strstr(why.text, "Not a directory"));
    snprintf(dir, sizeof dir, "%s/file/below", folder);
    assert_int_equal(checkpoint_make_dir(MPI_COMM_WORLD, dir, &why), CHECKPOINT_IO);
    assert_non_null(strstr(why.text, dir));
}

int main(int argc, char **argv)
{
    checkpoint_before_mpi_init();
    MPI_Init(&argc, &argv);
    fixture_folder(folder);
    const struct CMUnitTest tests[] = { cmocka_unit_test(lists),
                                        cmocka_unit_test(half_a_list_is_none),
                                        cmocka_unit_test(in_the_foreground),
                                        cmocka_unit_test(in_the_background),
                                        cmocka_unit_test(milestones_and_the_last_verified),
                                        cmocka_unit_test(leftovers_of_dead_runs),
                                        cmocka_unit_test(links_are_not_followed),
                                        cmocka_unit_test(unusable_folder) };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fixture_remove(folder);
    MPI_Finalize();
    return failed ? 1 : 0;
}
