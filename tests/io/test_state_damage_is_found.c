/* Whatever happens to a state's bytes on disk is found by verify and by a restart, with one sentence: 1,000
 * flips and cuts of index and parts, parts that are lost, exchanged or another state's, other fingerprints.
 * Nothing crashes, and no state with other values passes for whole. ranks: 1 2 release: all of them */
#include <fcntl.h>
#include <sys/stat.h>

#include "support/sanitized.h"
#include "support/state_tests.h"

/* A file of all cells has several blocks of BLOCK_BYTES, each part two. */
enum { NX = 151, NY = 226, BLOCK_BYTES = 1 << 16, FILE_MAX = 3 };
enum { PATH = FIXTURE_PATH_BYTES + 400, BYTES_MAX = 1 << 20 };
static char path[PATH], file[FILE_MAX][PATH];
static long bytes_of[FILE_MAX];
static int files;
static state_info whole;

/* A state of that many parts, kept as `whole`: the index, then its parts. */
static void make(int writers)
{
    state_level l = fixture_state(NX, NY, DTYPE_F64, 7);
    struct stat info;
    state_block_bytes = BLOCK_BYTES;
    snprintf(path, sizeof path, "%s/step_0000000007.h5", folder);
    fixture_write(&(state_writer_options){ .file = path, .writers = writers }, &l);
    free(l.field[0].data);
    state_close(&whole);
    assert_int_equal(state_open(MPI_COMM_WORLD, path, &whole, &why), STATE_OK);
    files = whole.folder[0] ? 1 + whole.parts : 1;
    snprintf(file[0], PATH, "%s", path);
    for (int k = 0; k < files; k++) {
        if (k > 0) snprintf(file[k], PATH, "%s/%s/%d.h5", folder, whole.folder, k - 1);
        bytes_of[k] = stat(file[k], &info) == 0 ? (long)info.st_size : 0;
    }
}

static bool is_one_sentence(const char *text) { return *text && !strchr(text, '\n'); }

/* By verify, with the place; and by what a restart does. */
static void expect_found(const char *what, const char *in_sentence)
{
    state_report r;
    state_level l = fixture_state(NX, NY, DTYPE_F64, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    const state_status verified = fixture_verify(path, &r);
    if (verified == STATE_OK || !is_one_sentence(r.first.text) || !strstr(r.first.text, in_sentence))
        fail_msg("%s: status %d, %s", what, (int)verified, r.first.text);
    const state_status loaded = fixture_load(MPI_COMM_WORLD, path, &l);
    const bool held =
        loaded == STATE_OK && fixture_holds(&l.field[0], DTYPE_F64, 0); /* structure of a part alone */
    if (loaded == STATE_OK ? !held : !is_one_sentence(why.text))
        fail_msg("%s: restart took %d", what, (int)loaded);
    free(l.field[0].data);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void expect_whole(void)
{
    state_report r;
    MPI_Barrier(MPI_COMM_WORLD);
    if (fixture_verify(path, &r) != STATE_OK) fail_msg("%s", r.first.text);
    MPI_Barrier(MPI_COMM_WORLD);
}

static uint64_t seed = 20261127;
static long chance(long below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (long)((seed >> 20) % (uint64_t)below);
}

/* Flips bits of a byte, whose block is named if it is a cell's; mask 0: cuts the file off there. Then puts it
 * together again. */
static void damage_and_mend(int number, long at, int mask)
{
    static char rest[BYTES_MAX];
    const long count = mask ? 1 : bytes_of[number] - at;
    const int fd = open(file[number], O_RDWR), k = whole.folder[0] ? number - 1 : 0;
    const long first = k < 0 ? 0 : whole.part[k].of[0].at_bytes,
               cells = k < 0 ? 0 : (long)box_cells(whole.part[k].of[0].cells) * 8;
    char what[64];
    snprintf(what, sizeof what, "file %d, byte %ld ^ %d", number, at, mask);
    if (rank == 0) {
        must(pread(fd, rest, (size_t)count, at) == count, what);
        rest[0] = (char)(rest[0] ^ mask);
        must(mask ? pwrite(fd, rest, 1, at) == 1 : ftruncate(fd, at) == 0, what);
    }
    expect_found(what, mask && at >= first && at < first + cells ? ", rows " : "");
    rest[0] = (char)(rest[0] ^ mask);
    if (rank == 0) must(pwrite(fd, rest, (size_t)count, at) == count, what);
    close(fd);
}

/* Every other flip is among the first and last bytes, where the structure is; the table is flipped whole. */
static void flips_and_cuts(void **unused)
{
    const char *const asked = getenv("WEFT_DAMAGE_FLIPS");
    const int flips = asked ? atoi(asked) : SANITIZED ? 40 : 500;
    make(ranks);
    for (int i = 0; i < flips; i++) {
        const long all = bytes_of[i % files], edge = all < 12000 ? all : 12000;
        const long at = i % 4 < 2 ? chance(all) : i % 4 == 2 ? chance(edge) : all - 1 - chance(edge);
        damage_and_mend(i % files, at, 1 << chance(8));
    }
    for (int i = 0; i < 640; i += SANITIZED ? 11 : 1) damage_and_mend(0, bytes_of[0] - 640 + i, 1);
    for (int i = 0; i < flips / 10; i++) {
        const long all = bytes_of[i % files];
        damage_and_mend(i % files, i % 2 ? chance(all) : all - 1 - chance(200), 0);
    }
    expect_whole();
}

/* One thing after another is done to a state of parts ($a the first, $z the last), then undone; and to one
 * file ($f), which becomes less and less of a state. A part is named; verify.bats looks for the rows. */
static void what_is_no_state(void **unused)
{
    static const struct {
        const char *done, *said, *undone;
    } cases[] = {
        { "mv $z aside", "is not there", NULL },
        { "ln -s /nowhere $z", "is not there", NULL },
        { "rm $z && mkdir $z", "is no file", NULL },
        { "rmdir $z && mv $a $z && mv aside $a", "part 0 (", "mv $a aside && mv $z $a && mv aside $z" },
        { "mv step_0000000007.h5 $f", "it holds step 7 under the name of step 8", NULL },
        { "h5repack $f new && mv new $f", "does not end in a state's trailer", NULL },
        { ": >$f", "does not end in a state's trailer", NULL },
        { "rm $f && mkfifo $f", "is a pipe or a device", NULL },
    };
    enum { OF_PARTS = 4, CASES = sizeof cases / sizeof *cases };
    static const char shell[] = "a=%s z=%s f=step_0000000008.h5 && %s";
    for (int i = ranks > 1 ? 0 : OF_PARTS; i < CASES; i++) {
        if (i == 0 || i == OF_PARTS) make(i ? 1 : ranks);
        fixture_shell(folder, shell, file[1], file[ranks], cases[i].done);
        if (i == OF_PARTS) snprintf(path, sizeof path, "%s/step_0000000008.h5", folder);
        expect_found(cases[i].done, cases[i].said);
        if (!cases[i].undone) continue;
        fixture_shell(folder, shell, file[1], file[ranks], cases[i].undone);
        expect_whole();
    }
}

/* Blocks are right, and the index records another fingerprint, of each field. */
static void another_fingerprint(void **unused)
{
    state_info s;
    state_report r;
    state_level l = { .kind = "wave", .type = DTYPE_F64, .deck = "", .fields = 2 };
    snprintf(path, sizeof path, "%s/state.h5", folder);
    for (int i = 0; i < 2; i++) {
        l.field[i] = fixture_cut(i ? "u_prev" : "u", 40, 30, 1, ranks, rank, DTYPE_F64);
        fixture_fill(&l.field[i], DTYPE_F64, i);
    }
    fixture_write(&(state_writer_options){ .file = path, .writers = ranks }, &l);
    assert_int_equal(state_open(MPI_COMM_WORLD, path, &s, &why), STATE_OK);
    for (int i = 0; i < 2; i++) {
        char name[64];
        s.field[i].fingerprint ^= 1;
        snprintf(name, sizeof name, "/fields/%s has fingerprint", l.field[i].name);
        assert_true(state_load(MPI_COMM_WORLD, &s, &l, &why) == STATE_DAMAGED && strstr(why.text, name));
        assert_int_equal(state_verify(MPI_COMM_WORLD, &s, &r, &why), STATE_DAMAGED);
        assert_true(r.damaged == 1 && strstr(r.first.text, name));
        s.field[i].fingerprint ^= 1;
    }
    for (int i = 0; i < 2; i++) free(l.field[i].data);
    state_close(&s);
    state_close(&whole);
}

STATE_TESTS(NULL, cmocka_unit_test(flips_and_cuts), cmocka_unit_test(what_is_no_state),
            cmocka_unit_test(another_fingerprint))
