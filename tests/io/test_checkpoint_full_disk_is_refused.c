/* A disk without room for a checkpoint: every rank gets CHECKPOINT_IO within 10 s, the older file stays,
 * nothing is left. ranks: 1 2 4 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include "state/checkpoint.h"
#include "support/checkpoint_fixture.h"
#include "writer/checkpoint_write.h"

static sentence why;
static char folder[FIXTURE_PATH_BYTES];

static int files_in_folder(void)
{
    int files = 0;
    if (fixture_rank(MPI_COMM_WORLD) == 0) {
        DIR *d = opendir(folder);
        for (const struct dirent *e; (e = readdir(d));) files += e->d_name[0] != '.';
        closedir(d);
    }
    MPI_Bcast(&files, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return files;
}

static checkpoint_status write_bytes(const char *name, int64_t bytes, int64_t step)
{
    char path[FIXTURE_PATH_BYTES + 32];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    checkpoint_state s = fixture_state(MPI_COMM_WORLD, 1000, bytes / 8000, DTYPE_F64, step);
    const double begin_s = MPI_Wtime();
    why.text[0] = '\0';
    const checkpoint_status status = checkpoint_write(MPI_COMM_WORLD, path, &s, NULL, &why);
    assert_true(on_all(MPI_COMM_WORLD, MPI_Wtime() - begin_s < 10));
    free(s.field[0].data);
    return status;
}

static void larger_than_the_disk(void **state)
{
    (void)state;
    char path[FIXTURE_PATH_BYTES + 32];
    assert_int_equal(write_bytes("state.h5", 400000, 1), CHECKPOINT_OK);
    assert_int_equal(files_in_folder(), 2);
    const int64_t sizes[] = { 4000000, 2900000 };
    for (int i = 0; i < 2; i++)
        for (int again = 0; again < 2; again++) {
            const checkpoint_status status = write_bytes(again ? "other.h5" : "state.h5", sizes[i], 2);
            assert_true(on_all(MPI_COMM_WORLD, status == CHECKPOINT_IO));
            assert_true(on_all(MPI_COMM_WORLD, strstr(why.text, "B free") != NULL));
            assert_int_equal(files_in_folder(), 2);
        }
    checkpoint_state s = fixture_state(MPI_COMM_WORLD, 1000, 50, DTYPE_F64, 0);
    snprintf(path, sizeof path, "%s/state.h5", folder);
    assert_int_equal(checkpoint_read(MPI_COMM_WORLD, path, &s, &why), CHECKPOINT_OK);
    assert_int_equal(s.step, 1);
    free(s.field[0].data);
    assert_int_equal(write_bytes("state.h5", 2000000, 3), CHECKPOINT_OK);
}

/* statvfs knows nothing of a limit on the size of a file, as it knows nothing of a quota: the reservation
 * finds it. */
static void room_that_statvfs_promises(void **state)
{
    (void)state;
    struct rlimit old, small;
    getrlimit(RLIMIT_FSIZE, &old);
    small = old;
    small.rlim_cur = 500000;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    const int before = files_in_folder();
    const checkpoint_status status = write_bytes("other.h5", 800000, 4);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_true(on_all(MPI_COMM_WORLD, status == CHECKPOINT_IO));
    if (!on_all(MPI_COMM_WORLD, strstr(why.text, "reserve") && strstr(why.text, "File too large")))
        fail_msg("%s", why.text);
    assert_int_equal(files_in_folder(), before);
}

static void no_folder(void **state)
{
    (void)state;
    assert_true(on_all(MPI_COMM_WORLD, write_bytes("missing/state.h5", 8000, 0) == CHECKPOINT_IO));
    assert_true(on_all(MPI_COMM_WORLD, strstr(why.text, "No such file or directory") != NULL));
}

int main(int argc, char **argv)
{
    checkpoint_before_mpi_init();
    MPI_Init(&argc, &argv);
    fixture_folder(folder);
    int code = 0;
    if (fixture_rank(MPI_COMM_WORLD) == 0 && mount("tmpfs", folder, "tmpfs", 0, "size=3m") != 0) code = errno;
    MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD);
    int failed = 0;
    if (code) {
        if (fixture_rank(MPI_COMM_WORLD) == 0)
            printf("skipped: a small tmpfs cannot be mounted here: %s\n", strerror(code));
    } else {
        const struct CMUnitTest tests[] = { cmocka_unit_test(larger_than_the_disk),
                                            cmocka_unit_test(room_that_statvfs_promises),
                                            cmocka_unit_test(no_folder) };
        failed = cmocka_run_group_tests(tests, NULL, NULL);
        MPI_Barrier(MPI_COMM_WORLD);
        if (fixture_rank(MPI_COMM_WORLD) == 0) umount(folder);
    }
    fixture_remove(folder);
    MPI_Finalize();
    return failed ? 1 : code ? 77 : 0;
}
