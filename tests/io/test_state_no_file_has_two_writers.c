/* No file is opened for writing by two ranks, and none under a name that one had before, but for the lock; a
 * reader opens none for writing. What another host sees late is waited for: a new folder that a rank does not
 * know for its first looks. open and access are taken over. ranks: 2 4 */
#include <errno.h>
#include <stdatomic.h>

#include "support/libc_call.h"
#include "support/state_tests.h"

enum { NAMES_MAX = 400, NAME_BYTES = 320 };
static char written[NAMES_MAX][NAME_BYTES];
static int names;
static atomic_int late_looks;

static void note(const char *path, int flags)
{
    const size_t length = strlen(path);
    if (strncmp(path, folder, strlen(folder)) != 0 || !*folder || (flags & O_ACCMODE) == O_RDONLY) return;
    if (length > 5 && strcmp(path + length - 5, ".lock") == 0) return;
    for (int i = 0; i < names; i++)
        if (strcmp(written[i], path) == 0) {
            if (flags & O_CREAT) fail_msg("%s is made twice", path);
            return;
        }
    assert_true(names < NAMES_MAX);
    snprintf(written[names++], NAME_BYTES, "%s", path);
}

#define OPEN_AS(NAME)                                      \
    int NAME(const char *path, int flags, ...)             \
    {                                                      \
        LIBC_OPEN_MODE(mode, flags)                        \
        const int fd = LIBC_CALL(NAME)(path, flags, mode); \
        if (fd >= 0) note(path, flags);                    \
        return fd;                                         \
    }
OPEN_AS(open)
OPEN_AS(open64)

int access(const char *path, int how)
{
    if (strncmp(path, folder, strlen(folder)) != 0 || atomic_load(&late_looks) == 0)
        return LIBC_CALL(access)(path, how);
    errno = atomic_fetch_sub(&late_looks, 1) % 2 ? ENOENT : ESTALE;
    return -1;
}

static void each_file_has_one(void **unused)
{
    const int ranks = fixture_ranks(MPI_COMM_WORLD), rank = fixture_rank(MPI_COMM_WORLD);
    char path[FIXTURE_PATH_BYTES + 32], (*all)[NAMES_MAX][NAME_BYTES] = calloc((size_t)ranks, sizeof *all);
    int counts[64] = { 0 };
    snprintf(path, sizeof path, "%s/state.h5", folder);
    for (int by = 1; by <= ranks; by++)
        for (int again = 0; again < 2; again++) {
            state_level l = fixture_state(MPI_COMM_WORLD, 53, 71, DTYPE_F64, by);
            assert_int_equal(fixture_write(MPI_COMM_WORLD, path, &l, by, &why), STATE_OK);
            const int before = names;
            assert_int_equal(fixture_load(MPI_COMM_WORLD, path, &l, &why), STATE_OK);
            assert_int_equal(names, before);
            free(l.field[0].data);
        }
    MPI_Allgather(&names, 1, MPI_INT, counts, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Allgather(written, sizeof written, MPI_CHAR, all, sizeof written, MPI_CHAR, MPI_COMM_WORLD);
    assert_true(counts[ranks - 1] >= 2);
    for (int r = 0; r < ranks; r++)
        for (int i = 0; i < counts[r] && r != rank; i++)
            for (int k = 0; k < names; k++)
                if (strcmp(all[r][i], written[k]) == 0)
                    fail_msg("ranks %d and %d write %s", r, rank, written[k]);
    free(all);
}

static void a_folder_that_is_seen_late(void **unused)
{
    const int ranks = fixture_ranks(MPI_COMM_WORLD);
    char path[FIXTURE_PATH_BYTES + 32];
    snprintf(path, sizeof path, "%s/late.h5", folder);
    state_level l = fixture_state(MPI_COMM_WORLD, 53, 71, DTYPE_F64, 1);
    if (fixture_rank(MPI_COMM_WORLD) == ranks - 1) atomic_store(&late_looks, 5);
    const state_status status = fixture_write(MPI_COMM_WORLD, path, &l, ranks, &why);
    if (status != STATE_OK) fail_msg("%s", why.text);
    assert_int_equal(atomic_load(&late_looks), 0);
    free(l.field[0].data);
}

STATE_TESTS(NULL, cmocka_unit_test(each_file_has_one), cmocka_unit_test(a_folder_that_is_seen_late))
