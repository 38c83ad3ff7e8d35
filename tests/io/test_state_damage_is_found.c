/* Whatever happens to a state's bytes on disk is found by verify and by a restart, with one sentence: 1,000
 * flips and cuts of index and parts, parts that are lost, exchanged or another state's, other fingerprints.
 * Nothing crashes, and no state with other values passes for whole. ranks: 1 2 release: all of them */
#include <hdf5.h>
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
    assert_int_equal(fixture_write(MPI_COMM_WORLD, path, &l, writers, &why), STATE_OK);
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

static long bytes_of(const char *name)
{
    struct stat info;
    assert_int_equal(stat(name, &info), 0);
    return (long)info.st_size;
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
    FILE *f = acts ? fopen(name, "r+b") : NULL;
    if (acts) {
        must(all - bytes <= (long)sizeof rest, "too long");
        fseek(f, bytes, SEEK_SET);
        must((long)fread(rest, 1, (size_t)(all - bytes), f) == all - bytes &&
                 ftruncate(fileno(f), bytes) == 0,
             name);
    }
    expect_found("cut", "");
    if (acts) {
        fseek(f, bytes, SEEK_SET);
        must((long)fwrite(rest, 1, (size_t)(all - bytes), f) == all - bytes, name);
        fclose(f);
    }
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
    if (acts) fixture_flip(file[number], at, mask);
    expect_found(what, at >= first && at < first + cells ? ", rows " : "");
    if (acts) fixture_flip(file[number], at, mask);
}

static void flips_and_cuts(int writers, int flips)
{
    make(writers);
    for (int i = 0; i < flips;
         i++) { /* every other one among the first and last bytes, where the structure is */
        const long bytes = bytes_of(file[i % files]), edge = bytes < 12000 ? bytes : 12000;
        const long at = i % 4 < 2 ? chance(bytes) : i % 4 == 2 ? chance(edge) : bytes - 1 - chance(edge);
        flip_and_mend(i % files, at, 1 << chance(8));
    }
    for (int i = 0; i < 640; i += SANITIZED ? 11 : 1)
        flip_and_mend(0, bytes_of(path) - 640 + i, 1); /* the table */
    for (int i = 0; i < flips / 10; i++) {
        const char *const name = file[i % files];
        const long bytes = bytes_of(name);
        cut_and_mend(name, i % 2 ? chance(bytes) : bytes - 1 - chance(200), bytes);
    }
    expect_whole();
    state_close(&whole);
    print_message("%d flips, %d cuts of %d files: all found\n", flips, flips / 10, files);
}

static int asked(int otherwise)
{
    const char *flips = getenv("WEFT_DAMAGE_FLIPS"), *begin = getenv("WEFT_DAMAGE_SEED");
    if (begin) seed = strtoull(begin, NULL, 10);
    return flips ? atoi(flips) : otherwise;
}

static void of_one_file(void **unused) { flips_and_cuts(1, asked(SANITIZED ? 40 : 400)); }

static void of_parts(void **unused)
{
    flips_and_cuts(fixture_ranks(MPI_COMM_WORLD), asked(SANITIZED ? 40 : 510));
}

/* A part is named; verify.bats looks for the rows. */
static void damage_is_named(void **unused)
{
    const int ranks = fixture_ranks(MPI_COMM_WORLD);
    const bool acts = fixture_rank(MPI_COMM_WORLD) == 0;
    char aside[PATH];
    if (ranks == 1) return;
    make(ranks);
    const char *const first = file[1], *const last = file[ranks];
    snprintf(aside, sizeof aside, "%s/aside", folder);
    if (acts) must(rename(last, aside) == 0, last);
    expect_found("a part that is lost", "is not there");
    if (acts) must(symlink("/nowhere", last) == 0, last);
    expect_found("a part that leads nowhere", "is not there");
    if (acts) must(unlink(last) == 0 && mkdir(last, 0700) == 0, last);
    expect_found("a folder in its place", "is no file");
    if (acts) must(rmdir(last) == 0 && rename(first, last) == 0 && rename(aside, first) == 0, last);
    expect_found("exchanged parts of one length", "part 0 (");
    if (acts) must(rename(first, aside) == 0 && rename(last, first) == 0 && rename(aside, last) == 0, last);
    expect_whole();
    state_close(&whole);
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
    assert_int_equal(fixture_write(MPI_COMM_WORLD, path, &l, ranks, &why), STATE_OK);
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
}

/* Not a state: another step's name, an empty file, a pipe, what another program wrote or changed. */
static void what_is_no_state(void **unused)
{
    const bool acts = fixture_rank(MPI_COMM_WORLD) == 0;
    char other[PATH];
    make(1);
    state_close(&whole);
    snprintf(other, sizeof other, "%s/step_0000000008.h5", folder);
    if (acts && rename(path, other) != 0) abort();
    snprintf(path, sizeof path, "%s", other);
    expect_found("another step's name", "it holds step 7 under the name of step 8");
    if (acts) {
        const hid_t f = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
        H5Adelete(f, "version");
        H5Fclose(f);
    }
    expect_found("changed by another program", "does not end in a state's trailer");
    if (acts && truncate(path, 0) != 0) abort();
    expect_found("an empty file", "does not end in a state's trailer");
    if (acts && (unlink(path) != 0 || mkfifo(path, 0600) != 0)) abort();
    expect_found("a pipe", "is a pipe or a device");
    if (acts && unlink(path) != 0) abort();
    expect_found("nothing", "no such file");
}

STATE_TESTS(NULL, cmocka_unit_test(of_one_file), cmocka_unit_test(of_parts),
            cmocka_unit_test(damage_is_named), cmocka_unit_test(another_fingerprint),
            cmocka_unit_test(what_is_no_state))
