/* Whatever happens to a state's bytes on disk is found by verify and by a restart, with one sentence: 1,000
 * flips and cuts of index and parts, parts that are lost, exchanged or another state's, other fingerprints.
 * Nothing crashes, and no state with other values passes for whole. ranks: 1 2 release: all of them */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/sanitized.h"
#include "support/state_tests.h"

enum { NX = 601, NY = 1501, FILE_MAX = 3, PATH = FIXTURE_PATH_BYTES + 400 };
static char path[PATH], file[FILE_MAX][PATH];
static int files;
static state_info whole;

/* A state of that many parts, kept as `whole`: the index, then its parts. */
static void make(int writers)
{
    state_level l = fixture_state(MPI_COMM_WORLD, NX, NY, DTYPE_F64, 7);
    snprintf(path, sizeof path, "%s/step_0000000007.h5", folder);
    assert_int_equal(fixture_write(false, path, &l, writers, &why), STATE_OK);
    state_close(&whole);
    assert_int_equal(state_open(MPI_COMM_WORLD, path, &whole, &why), STATE_OK);
    snprintf(file[0], PATH, "%s", path);
    for (int k = 0; k < whole.parts && whole.folder[0]; k++)
        snprintf(file[k + 1], PATH, "%s/%s/%d.h5", folder, whole.folder, k);
    files = whole.folder[0] ? 1 + whole.parts : 1;
    free(l.field[0].data);
}

static bool is_one_sentence(const char *text) { return *text && !strchr(text, '\n'); }

/* By verify, with the place; and by what a restart does. */
static void expect_found(const char *what, const char *in_sentence)
{
    state_report r;
    state_level l = fixture_state(MPI_COMM_WORLD, NX, NY, DTYPE_F64, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    const state_status verified = fixture_verify(MPI_COMM_WORLD, path, &r, &why);
    const char *const said = r.damaged ? r.first.text : why.text;
    if (verified == STATE_OK || !is_one_sentence(said) || !strstr(said, in_sentence))
        fail_msg("%s: status %d, %s", what, (int)verified, said);
    const state_status loaded = fixture_load(MPI_COMM_WORLD, path, &l, &why);
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
    if (fixture_verify(MPI_COMM_WORLD, path, &r, &why) != STATE_OK)
        fail_msg("%s", r.damaged ? r.first.text : why.text);
    MPI_Barrier(MPI_COMM_WORLD);
}

static uint64_t seed = 20261127;
static long chance(long below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (long)((seed >> 20) % (uint64_t)below);
}

/* The first bytes that are there stay: a cut file is put together again. */
static void cut_and_mend(const char *name, long bytes, long all)
{
    static char rest[1 << 24];
    const bool acts = fixture_rank(MPI_COMM_WORLD) == 0;
    const int fd = open(name, O_RDWR);
    if (acts)
        must(all - bytes <= (long)sizeof rest && pread(fd, rest, sizeof rest, bytes) == all - bytes &&
                 ftruncate(fd, bytes) == 0,
             name);
    expect_found("cut", "");
    if (acts) must(pwrite(fd, rest, (size_t)(all - bytes), bytes) == all - bytes, name);
    close(fd);
}

static void flip(const char *name, long at, int mask)
{
    char byte;
    const int fd = open(name, O_RDWR);
    must(pread(fd, &byte, 1, at) == 1, name);
    byte = (char)(byte ^ mask);
    must(pwrite(fd, &byte, 1, at) == 1 && close(fd) == 0, name);
}

/* A damaged cell's block is named. */
static void flip_and_mend(int number, long at, int mask)
{
    const bool acts = fixture_rank(MPI_COMM_WORLD) == 0, in_part = !whole.folder[0] || number > 0;
    const int k = whole.folder[0] ? number - 1 : 0;
    const long first = in_part ? whole.part[k].of[0].at_bytes : 0,
               cells = in_part ? (long)box_cells(whole.part[k].of[0].cells) * 8 : 0;
    char what[64];
    snprintf(what, sizeof what, "file %d, byte %ld ^ %d", number, at, mask);
    if (acts) flip(file[number], at, mask);
    expect_found(what, at >= first && at < first + cells ? ", rows " : "");
    if (acts) flip(file[number], at, mask);
}

/* Every other flip is among the first and last bytes, where the structure is; the table is flipped whole. */
static void flips_and_cuts(int writers, int flips)
{
    long bytes[FILE_MAX];
    struct stat info;
    make(writers);
    for (int i = 0; i < files; i++) bytes[i] = stat(file[i], &info) == 0 ? (long)info.st_size : 0;
    for (int i = 0; i < flips; i++) {
        const long all = bytes[i % files], edge = all < 12000 ? all : 12000;
        const long at = i % 4 < 2 ? chance(all) : i % 4 == 2 ? chance(edge) : all - 1 - chance(edge);
        flip_and_mend(i % files, at, 1 << chance(8));
    }
    for (int i = 0; i < 640; i += SANITIZED ? 11 : 1) flip_and_mend(0, bytes[0] - 640 + i, 1);
    for (int i = 0; i < flips / 10; i++) {
        const long all = bytes[i % files];
        cut_and_mend(file[i % files], i % 2 ? chance(all) : all - 1 - chance(200), all);
    }
    expect_whole();
}

static int asked(int otherwise)
{
    const char *flips = getenv("WEFT_DAMAGE_FLIPS"), *begin = getenv("WEFT_DAMAGE_SEED");
    if (begin) seed = strtoull(begin, NULL, 10);
    return flips ? atoi(flips) : SANITIZED ? 40 : otherwise;
}

static void of_one_file(void **unused) { flips_and_cuts(1, asked(400)); }
static void of_parts(void **unused) { flips_and_cuts(fixture_ranks(MPI_COMM_WORLD), asked(510)); }

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
        { "rm $f", "no such file", NULL },
    };
    enum { OF_PARTS = 4, CASES = sizeof cases / sizeof *cases };
    const int ranks = fixture_ranks(MPI_COMM_WORLD);
    char command[4 * PATH];
    for (int i = ranks > 1 ? 0 : OF_PARTS; i < CASES; i++) {
        const char *const shell = "cd '%s' && a=%s z=%s f=step_0000000008.h5 && %s";
        if (i == 0) make(ranks);
        if (i == OF_PARTS) make(1);
        snprintf(command, sizeof command, shell, folder, file[1], file[ranks], cases[i].done);
        fixture_shell(command);
        if (i == OF_PARTS) snprintf(path, sizeof path, "%s/step_0000000008.h5", folder);
        expect_found(cases[i].done, cases[i].said);
        if (!cases[i].undone) continue;
        snprintf(command, sizeof command, shell, folder, file[1], file[ranks], cases[i].undone);
        fixture_shell(command);
        expect_whole();
    }
}

/* Blocks are right, and the index records another fingerprint, of each field. */
static void another_fingerprint(void **unused)
{
    const int ranks = fixture_ranks(MPI_COMM_WORLD), rank = fixture_rank(MPI_COMM_WORLD);
    char name[64];
    state_info s;
    state_report r;
    state_level l = { .kind = "wave", .type = DTYPE_F64, .deck = "", .fields = 2 };
    snprintf(path, sizeof path, "%s/state.h5", folder);
    for (int i = 0; i < 2; i++) {
        l.field[i] = fixture_cut(i ? "u_prev" : "u", 40, 30, 1, ranks, rank, DTYPE_F64);
        fixture_fill(&l.field[i], DTYPE_F64, i);
    }
    assert_int_equal(fixture_write(false, path, &l, ranks, &why), STATE_OK);
    assert_int_equal(state_open(MPI_COMM_WORLD, path, &s, &why), STATE_OK);
    for (int i = 0; i < 2; i++) {
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

STATE_TESTS(NULL, cmocka_unit_test(of_one_file), cmocka_unit_test(of_parts),
            cmocka_unit_test(what_is_no_state), cmocka_unit_test(another_fingerprint))
