/* No file is opened for writing by two ranks, and none under a name that one had before, but for lock and
 * mark; a reader opens none for writing. What another host sees late is waited for: a new folder that a rank
 * does not know for its first looks. ranks: 2 4 */
#include "support/disk_calls.h"

enum { NAMES_MAX = 400 };
static char written[NAMES_MAX][DISK_NAME_BYTES];
static int names;
static atomic_int late_looks;

static void disk_after(const disk_call *c)
{
    const size_t length = strlen(c->name);
    if (c->what != DISK_OPEN || (c->flags & O_ACCMODE) == O_RDONLY) return;
    if (length > 5 && strcmp(c->name + length - 5, ".lock") == 0) return;
    if (strstr(c->name, "/unfinished")) return; /* which is empty */
    for (int i = 0; i < names; i++)
        if (strcmp(written[i], c->name) == 0) {
            if (c->flags & O_CREAT) fail_msg("%s is made twice", c->name);
            return;
        }
    assert_true(names < NAMES_MAX);
    strcpy(written[names++], c->name);
}

static disk_verdict disk_before(const disk_call *c)
{
    if (c->what != DISK_LOOK || atomic_load(&late_looks) == 0) return DISK_AS_EVER;
    errno = atomic_fetch_sub(&late_looks, 1) % 2 ? ENOENT : ESTALE;
    return DISK_FAILS;
}

static void each_file_has_one(void **unused)
{
    const int ranks = fixture_ranks(MPI_COMM_WORLD), rank = fixture_rank(MPI_COMM_WORLD);
    char path[FIXTURE_PATH_BYTES + 32],
        (*all)[NAMES_MAX][DISK_NAME_BYTES] = calloc((size_t)ranks, sizeof *all);
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

static int set_up(void **unused)
{
    atomic_store(&disk_watched, true);
    return 0;
}

STATE_TESTS(set_up, cmocka_unit_test(each_file_has_one), cmocka_unit_test(a_folder_that_is_seen_late))
