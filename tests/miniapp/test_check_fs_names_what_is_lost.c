/* The trials of `weft check fs` on file systems that do not keep what they are trusted with: each loss is
 * named, is BROKEN where weft relies on it and a note where it does not, and nothing is said of what is kept.
 * libc's calls are taken over. ranks: 2 4 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <mpi.h>
#include <sys/file.h>

#include "check_fs/fs_trials.h"
#include "support/libc_call.h"
#include "support/state_fixture.h"

static char folder[FIXTURE_PATH_BYTES];
static fs_world w;

static int host_of(int rank) { return rank * 2 / fixture_ranks(MPI_COMM_WORLD); }

static bool ignores_flock, ignores_excl;
int flock(int fd, int operation) { return ignores_flock ? 0 : LIBC_CALL(flock)(fd, operation); }

int open(const char *path, int flags, ...)
{
    LIBC_OPEN_MODE(mode, flags)
    return LIBC_CALL(open)(path, ignores_excl ? flags & ~O_EXCL : flags, mode);
}

static void begin(void)
{
    int of[64] = { 0 };
    const int rank = fixture_rank(MPI_COMM_WORLD), ranks = fixture_ranks(MPI_COMM_WORLD);
    for (int r = 0; r < ranks; r++) of[r] = host_of(r);
    w = (fs_world){ .comm = MPI_COMM_WORLD,
                    .hosts = hosts_make(of, ranks),
                    .rank = rank,
                    .ranks = ranks,
                    .seconds = 3,
                    .bytes = 1 << 20 };
    snprintf(w.folder, sizeof w.folder, "%s", folder);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void end(void)
{
    hosts *h = (hosts *)w.hosts;
    MPI_Barrier(MPI_COMM_WORLD);
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

static void what_is_kept(void **state)
{
    (void)state;
    begin();
    fs_names(&w);
    fs_locks(&w);
    end();
    for (int i = 0; i < w.lines; i++) assert_true(w.line[i].word == FS_KEPT || w.line[i].word == FS_FIGURE);
    assert_int_equal(word_of("O_EXCL"), FS_KEPT);
    assert_int_equal(word_of("flock here"), FS_KEPT);
}

static void names_that_two_make(void **state)
{
    (void)state;
    begin();
    ignores_excl = true;
    fs_names(&w);
    ignores_excl = false;
    end();
    assert_int_equal(word_of("O_EXCL"), FS_BROKEN);
    assert_int_equal(word_of("rename"), FS_KEPT);
}

/* flock, of two descriptors on one host, is what keeps a second run out. */
static void locks_that_two_hold_are_none(void **state)
{
    (void)state;
    begin();
    ignores_flock = true;
    fs_locks(&w);
    ignores_flock = false;
    end();
    assert_int_equal(word_of("flock here"), FS_BROKEN);
    assert_int_equal(word_of("flock"), FS_NOTE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    fixture_folder(folder);
    const struct CMUnitTest tests[] = { cmocka_unit_test(what_is_kept), cmocka_unit_test(names_that_two_make),
                                        cmocka_unit_test(locks_that_two_hold_are_none) };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fixture_remove(folder);
    MPI_Finalize();
    return failed ? 1 : 0;
}
