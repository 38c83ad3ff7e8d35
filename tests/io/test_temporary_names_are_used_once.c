/* A file is written under a name that no file had before, and by every rank only if it is the file that rank
 * 0 made: a host that knows another file by that name, or none, is told from one that comes to know it, and
 * nothing is written into another file.
 *
 * What another host sees is made up here: open is taken over, and leads this rank's first looks at a
 * temporary name elsewhere; and stat, by which a rank looks for the directory that rank 0 made. ranks: 2 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/replace.h"
#include "support/checkpoint_fixture.h"
#include "support/libc_call.h"
#include "writer/checkpoint_file.h"
#include "writer/writer.h"

enum { NAMES_MAX = 16 };
static sentence why;
static char folder[FIXTURE_PATH_BYTES], other[FIXTURE_PATH_BYTES + 32];
static char made[NAMES_MAX][FIXTURE_PATH_BYTES + 128];
static int names;
static atomic_int looks_elsewhere; /* that are left */
static bool sees_none;             /* instead of another file */

int open(const char *path, int flags, ...)
{
    LIBC_OPEN_MODE(mode, flags)
    const bool ours = strncmp(path, folder, strlen(folder)) == 0 && strstr(path, ".h5.tmp") != NULL;
    if (ours && (flags & O_CREAT) && names < NAMES_MAX) snprintf(made[names++], sizeof *made, "%s", path);
    if (!ours || (flags & O_CREAT) || atomic_load(&looks_elsewhere) == 0)
        return LIBC_CALL(open)(path, flags, mode);
    atomic_fetch_sub(&looks_elsewhere, 1);
    if (!sees_none) return LIBC_CALL(open)(other, flags, mode);
    errno = ENOENT;
    return -1;
}

static bool late;             /* this rank does not see a new file in the folder yet */
static atomic_int late_looks; /* that are left until it does */

int stat(const char *path, struct stat *info)
{
    if (!late || !strstr(path, "/.weft.tmp.") || atomic_load(&late_looks) == 0)
        return LIBC_CALL(stat)(path, info);
    errno = atomic_fetch_sub(&late_looks, 1) % 2 ? ENOENT : ESTALE;
    return -1;
}

static checkpoint_status write_step(const char *name, int64_t step)
{
    char path[FIXTURE_PATH_BYTES + 64];
    checkpoint_state s = fixture_state(MPI_COMM_WORLD, 40, 30, DTYPE_F64, step);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    why.text[0] = '\0';
    const checkpoint_status status = checkpoint_write(MPI_COMM_WORLD, path, &s, NULL, &why);
    free(s.field[0].data);
    return status;
}

static void another_each_time(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) assert_int_equal(write_step("once.h5", 1), CHECKPOINT_OK);
    if (fixture_rank(MPI_COMM_WORLD) != 0) return;
    assert_int_equal(names, 4);
    for (int i = 0; i < names; i++)
        for (int k = 0; k < i; k++) assert_string_not_equal(made[i], made[k]);
}

/* Rank 1's first `looks` looks go elsewhere: on another host, where a while is waited for the directory to be
 * looked up anew. */
static void elsewhere(int looks, bool none, const char *part)
{
    char bytes[64] = "";
    if (fixture_rank(MPI_COMM_WORLD) == 0) {
        FILE *f = fopen(other, "w");
        fputs("precious", f);
        fclose(f);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    sees_none = none;
    if (fixture_rank(MPI_COMM_WORLD) == 1) atomic_store(&looks_elsewhere, looks);
    const checkpoint_status status = write_step("elsewhere.h5", 2);
    atomic_store(&looks_elsewhere, 0);
    assert_int_equal(status, part ? CHECKPOINT_IO : CHECKPOINT_OK);
    if (part && !strstr(why.text, part)) fail_msg("%s", why.text);
    assert_int_equal(fixture_left(folder), 0);
    MPI_Barrier(MPI_COMM_WORLD);
    FILE *f = fopen(other, "r");
    assert_true(fread(bytes, 1, sizeof bytes, f) == 8 && strcmp(bytes, "precious") == 0);
    fclose(f);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* On one host a name is what it is. */
static void on_one_host(void **state)
{
    (void)state;
    elsewhere(1, false, " sees a different file in place of ");
    elsewhere(1, true, " does not see ");
    elsewhere(0, false, NULL);
}

/* A directory that another host has cached is looked up anew within some seconds: until then it knows another
 * file, or none. */
static void on_another_host(void **state)
{
    (void)state;
    checkpoint_names n;
    checkpoint_identity id;
    char path[FIXTURE_PATH_BYTES + 64];
    int fd = -1, found = -1;
    if (fixture_rank(MPI_COMM_WORLD) != 0) return;
    snprintf(path, sizeof path, "%s/another.h5", folder);
    assert_int_equal(checkpoint_names_make(&n, path, &why), CHECKPOINT_OK);
    checkpoint_names_token(&n, replace_token());
    assert_int_equal(checkpoint_create_tmp(&n, &fd, &id, &why), CHECKPOINT_OK);
    id.device++; /* of its mount */
    for (int none = 0; none < 2; none++) {
        sees_none = none;
        atomic_store(&looks_elsewhere, 3);
        assert_int_equal(checkpoint_open_tmp(&n, O_RDWR, &id, false, 0, &found, &why), CHECKPOINT_OK);
        assert_int_equal(atomic_load(&looks_elsewhere), 0);
        close(found);
    }
    assert_int_equal(checkpoint_open_tmp(&n, O_RDWR, &id, true, 0, &found, &why), CHECKPOINT_IO);
    close(fd);
    checkpoint_unlink_tmp(&n);
}

/* The same of the directory: every rank sees in the end that it is rank 0's, or the run would write nothing.
 * */
static void a_directory(void **state)
{
    (void)state;
    late = fixture_rank(MPI_COMM_WORLD) == 1;
    atomic_store(&late_looks, 4);
    why.text[0] = '\0';
    const checkpoint_status status = checkpoint_is_shared(MPI_COMM_WORLD, folder, &why);
    const int left = atomic_load(&late_looks), expected = late ? 0 : 4;
    late = false;
    MPI_Barrier(MPI_COMM_WORLD);
    if (status != CHECKPOINT_OK) fail_msg("%s", why.text);
    assert_int_equal(left, expected);
    assert_int_equal(fixture_left(folder), 0);
}

int main(int argc, char **argv)
{
    checkpoint_before_mpi_init();
    MPI_Init(&argc, &argv);
    fixture_folder(folder);
    snprintf(other, sizeof other, "%s/other", folder);
    const struct CMUnitTest tests[] = { cmocka_unit_test(another_each_time), cmocka_unit_test(on_one_host),
                                        cmocka_unit_test(on_another_host), cmocka_unit_test(a_directory) };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fixture_remove(folder);
    MPI_Finalize();
    return failed ? 1 : 0;
}
