/* The trials of `weft check fs` on file systems that do not keep what they are trusted with: each loss is
 * named, is BROKEN where weft's rule relies on it and a note where it does not, and nothing is said of what
 * is kept. ranks: 2 4 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <mpi.h>
#include <sys/file.h>

#include "check_fs/fs_trials.h"
#include "support/cached_hosts.h"
#include "support/checkpoint_fixture.h"

static char folder[FIXTURE_PATH_BYTES];
static cached_server *server;
static fs_world w;

/* ---- hosts that cache as NFS does ---- */

static int host_of(int rank) { return rank * 2 / fixture_ranks(MPI_COMM_WORLD); }

/* libc's own keeps one of the two: the whole file is one host's. */
static bool ignores_flock;
int flock(int fd, int operation) { return ignores_flock ? 0 : LIBC_CALL(flock)(fd, operation); }

/* Two hosts, or as weft is made to believe one. */
static void begin(writers_rule rule, bool one_host)
{
    int of[64] = { 0 };
    const int rank = fixture_rank(MPI_COMM_WORLD), ranks = fixture_ranks(MPI_COMM_WORLD);
    for (int r = 0; r < ranks && !one_host; r++) of[r] = host_of(r);
    w = (fs_world){ .comm = MPI_COMM_WORLD,
                    .hosts = hosts_make(of, ranks),
                    .rank = rank,
                    .ranks = ranks,
                    .seconds = 6,
                    .bytes = 1 << 20,
                    .plan = { .rule = rule } };
    snprintf(w.folder, sizeof w.folder, "%s", folder);
    if (rank == 0) cached_empty(server, 3, 20261123);
    MPI_Barrier(MPI_COMM_WORLD);
    cached_start(server, folder, host_of(rank));
}

static void end(void)
{
    hosts *h = (hosts *)w.hosts;
    MPI_Barrier(MPI_COMM_WORLD);
    cached_start(NULL, "", 0);
    for (int i = 0; i < w.lines && w.rank == 0; i++)
        print_message("%d  %s: %s; %s\n", (int)w.line[i].word, w.line[i].key, w.line[i].found.text,
                      w.line[i].means.text);
    hosts_destroy(&h);
}

/* The same on all ranks. */
static fs_word word_of(const char *key)
{
    for (int i = 0; i < w.lines; i++)
        if (strcmp(w.line[i].key, key) == 0) return w.line[i].word;
    fail_msg("no line %s", key);
    return FS_FAILED;
}

static void pages_that_hosts_share_lose_bytes(void **state)
{
    (void)state;
    begin(WRITERS_ONE_HOST, false);
    fs_borders(&w);
    end();
    assert_int_equal(word_of("borders"), FS_NOTE);
    assert_int_equal(word_of("piece borders"), FS_KEPT);
    if (w.ranks == 4) assert_int_equal(word_of("borders here"), FS_KEPT);
}

static void ranks_that_are_taken_for_one_host_must_share_a_cache(void **state)
{
    (void)state;
    begin(WRITERS_OWN_CELLS, true);
    fs_borders(&w);
    end();
    assert_int_equal(word_of("borders here"), FS_BROKEN);
}

static void names_reach_old_files(void **state)
{
    (void)state;
    begin(WRITERS_ONE_HOST, false);
    fs_names(&w);
    end();
    assert_int_equal(word_of("names"), FS_NOTE);
    assert_int_equal(word_of("new files"), FS_KEPT);
    assert_int_equal(word_of("O_EXCL"), FS_KEPT);
    assert_int_equal(word_of("rename"), FS_KEPT);
}

/* The model grants every lock by fcntl. flock, of two descriptors on one host, is what keeps a second run
 * out. */
static void locks_that_two_hold_are_none(void **state)
{
    (void)state;
    begin(WRITERS_ONE_HOST, false);
    fs_locks(&w);
    ignores_flock = true;
    fs_locks(&w);
    ignores_flock = false;
    end();
    assert_int_equal(word_of("flock here"), FS_KEPT);
    assert_int_equal(word_of("fcntl here"), FS_NOTE);
    assert_int_equal(word_of("fcntl"), FS_NOTE);
    assert_int_equal(w.line[w.lines / 2].word, FS_BROKEN); /* flock here, the second time */
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    fixture_folder(folder);
    server = cached_map(folder);
    if (!server) MPI_Abort(MPI_COMM_WORLD, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_that_hosts_share_lose_bytes),
        cmocka_unit_test(ranks_that_are_taken_for_one_host_must_share_a_cache),
        cmocka_unit_test(names_reach_old_files), cmocka_unit_test(locks_that_two_hold_are_none)
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    munmap(server, sizeof *server);
    fixture_remove(folder);
    MPI_Finalize();
    return failed ? 1 : 0;
}
