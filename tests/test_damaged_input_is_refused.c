/* Whatever a deck, a command line or a state file holds, reading it ends: with what it means, or with one sentence. Nothing
 * crashes, hangs, or takes much memory, and no state file is taken for whole that holds other values.
 *
 * Inputs are sound ones that were changed by chance: bytes, words of the language in wrong places, pieces cut out, repeated,
 * exchanged. In every other file the library's own checksums over its structures are made right again, so that what lies behind
 * them is reached. Each batch runs in a child: what crashes it or takes longer than a few seconds is counted, said with its
 * number, and kept in /tmp. Only in the look at a state file that a process of its own has, checkpoint_probe.h, may HDF5 crash.
 * WEFT_FUZZ_DECKS, WEFT_FUZZ_FILES and WEFT_FUZZ_SEED ask for more of them, or others: `make fuzz`.
 * ranks: 1 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <omp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "checkpoint_fixture.h"
#include "checkpoint_probe.h"
#include "config.h"
#include "config_table.h"
#include "request.h"

#ifdef __SANITIZE_ADDRESS__
enum { KNOWS_PEAK = false }; /* what was freed is kept for a while; there max_allocation_size_mb sets the limit */
#else
enum { KNOWS_PEAK = true };
#endif
enum { INPUT_MAX = 1 << 16, BATCH = 200, NX = 37, NY = 23, LIMIT_S = 20, GROWTH_MAX_KIB = 256 << 10 };

typedef struct input {
    char bytes[INPUT_MAX + 1];
    size_t count;
} input;

typedef struct progress { /* of a child, in memory that it shares with its parent */
    volatile long at;
    volatile bool probes;
    char wrong[128];
} progress;

static char folder[FIXTURE_PATH_BYTES];
static progress *shared;

/* ---- chance ---- */

static uint64_t state_of_chance;

static uint64_t chance(uint64_t below)
{
    uint64_t z = state_of_chance += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (z ^ z >> 31) % below;
}

/* Puts `bytes` in place of `gone` bytes at `at`, as far as there is room. */
static void replace(input *in, size_t at, size_t gone, const char *with, size_t bytes)
{
    if (at + gone > in->count || in->count - gone + bytes > INPUT_MAX) return;
    memmove(in->bytes + at + bytes, in->bytes + at + gone, in->count - at - gone);
    memcpy(in->bytes + at, with, bytes);
    in->count += bytes - gone;
}

static void change(input *in, const char *const *word, size_t words)
{
    static const unsigned char odd[] = { 0, 1, 2, 4, 8, 16, 32, 64, 127, 128, 254, 255 };
    char piece[512];
    const size_t at = chance(in->count + 1), left = in->count - at, run = left ? 1 + chance(left < 64 ? left : 64) : 0;
    switch (chance(words ? 8 : 6)) {
    case 0:
        if (left) in->bytes[at] = (char)(in->bytes[at] ^ 1 << chance(8));
        break;
    case 1:
        if (left) in->bytes[at] = (char)odd[chance(sizeof odd)];
        break;
    case 2: replace(in, at, run, "", 0); break;
    case 3: /* once more */
        memcpy(piece, in->bytes + at, run);
        replace(in, at, 0, piece, run);
        break;
    case 4: /* from elsewhere */
        memcpy(piece, in->bytes + at, run);
        replace(in, chance(in->count + 1), chance(2) ? run : 0, piece, run);
        break;
    case 5: /* one number larger or smaller, of 1, 2, 4 or 8 bytes */
        if (left >= 8) {
            const size_t bytes = (size_t)1 << chance(4);
            uint64_t number = 0;
            memcpy(&number, in->bytes + at, bytes);
            number = chance(3) ? number + chance(33) - 16 : ~(uint64_t)0 >> chance(64);
            memcpy(in->bytes + at, &number, bytes);
        }
        break;
    default: {
        const char *const w = word[chance(words)];
        replace(in, at, chance(2) ? run : 0, w, strlen(w));
    }
    }
}

/* ---- decks and command lines ---- */

static const char *const decks[] = {
    "# heat\n[problem]\nkind = heat\norder = 4\nalpha = 0.1 ; a comment\n[grid]\nnx = 64\nny = 32\n"
    "x_low = dirichlet 1.5\nx_high = neumann\n"
    "[time]\nsteps = 100\n[checkpoint]\nevery = 10\ndir = a/b\nkeep = 3\n",
    "[problem]\nkind = custom\ndtype = f32\nweights = .1 .2 .1 |\n  .2 .1 .2 |\n  .01 .02 .03\n"
    "initial = a.h5:/fields/v\n[grid]\nnx = 1000\nny = 7\n"
    "boundary = neumann\n[time]\nsteps=5\n[output]\nrecord = none\nfinal = x.h5\n",
    "[problem]\nkind=laplace\ninitial=random\nseed=-5\n[grid]\nnx=1099511627776\nboundary=dirichlet -1e300\n[time]\n"
    "steps=9999999999\n"
    "tolerance=1e-9\nnorm_every=7\n[run]\ndevice=host\nlanes=3\nwall_limit=3600\n",
    "[problem]\nkind=advect\nalpha=-0.3\nmode_x=3\norder=8\n[grid]\nnx=17\n[time]\nsteps=0\n[checkpoint]\n"
    "verify=sample\non_error=continue\n",
};
static const char *words_of_decks[256];
static size_t words_of_decks_count;

static void gather_words(void)
{
    static const char *const more[] = {
        "[problem]", "[grid]", "\n[time]\n", "[run]", "]", "[", "=", " = ", "\n", "\n ", ";", " ;", "#", "|", "\\ ", "\r\n",
        "-1", "0", "1e999", "nan", "inf", "0x10", "9223372036854775807", "-9223372036854775808", "18446744073709551616", "1e-320",
        "periodic", "neumann", "dirichlet 1", "dirichlet", "true", "none", "/", "../..", ":/", "%s%n", "\xff\xfe", "\xc3\xa9",
    };
    for (size_t i = 0; i < config_table_count; i++) words_of_decks[words_of_decks_count++] = strchr(config_table[i].key, '.') + 1;
    for (size_t i = 0; i < config_table_count; i++) words_of_decks[words_of_decks_count++] = config_table[i].key;
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) words_of_decks[words_of_decks_count++] = more[i];
}

static bool one_sentence(const char *why) { return *why && !strchr(why, '\n'); }

/* What a config says is read again as what it is; NULL, or what is wrong. */
static const char *comes_back(const config *c)
{
    static config again;
    char why[1024] = "";
    deck d = { NULL, 0 };
    char *text = config_to_text(c);
    memset(&again, 0, sizeof again);
    const bool ok = deck_read_text(&d, text, "resolved", why, sizeof why) && config_from_deck(&again, &d, why, sizeof why);
    deck_free(&d);
    free(text);
    if (!ok) print_error("%s\n", why);
    return !ok ? "a resolved deck is refused" : config_first_difference(c, &again) ? "a resolved deck means something else" : NULL;
}

static const char *try_deck(input *in)
{
    static config c;
    char why[1024] = "";
    deck d = { NULL, 0 };
    in->bytes[in->count] = '\0'; /* a zero byte before is where deck_file_text would have refused */
    memset(&c, 0, sizeof c);
    const bool ok = deck_read_text(&d, in->bytes, "fuzz.ini", why, sizeof why) && config_from_deck(&c, &d, why, sizeof why);
    deck_free(&d);
    return ok ? comes_back(&c) : one_sentence(why) ? NULL : "a refusal without a sentence";
}

static const char *try_command_line(input *in)
{
    static request q;
    char *argv[32] = { "run" }, why[1024] = "";
    int argc = 1;
    in->bytes[in->count] = '\0';
    for (char *at = in->bytes; argc < 31; at = NULL) {
        argv[argc] = strtok(at, "\n");
        if (!argv[argc]) break;
        argc++;
    }
    const bool ok = request_make(&q, argc, argv, why, sizeof why);
    const char *wrong = ok ? comes_back(&q.cfg) : one_sentence(why) ? NULL : "a refusal without a sentence";
    request_free(&q);
    return wrong;
}

static const char *deck_number(uint64_t seed, input *in)
{
    state_of_chance = seed;
    const char *from = decks[chance(sizeof decks / sizeof *decks)];
    in->count = strlen(from);
    memcpy(in->bytes, from, in->count);
    const bool line = chance(8) == 0;
    if (line)
        in->count = (size_t)snprintf(in->bytes, INPUT_MAX,
                                     "%s/d.ini\ngrid.nx=40\nproblem.alpha=.1\n--restart\na=b.h5\ntime.steps=7\n--dry-run", folder);
    for (uint64_t i = 1 + chance(6); i > 0; i--) change(in, words_of_decks, words_of_decks_count);
    return line ? try_command_line(in) : try_deck(in);
}

/* ---- state files ---- */

extern uint32_t H5_checksum_metadata(const void *data, size_t bytes, uint32_t start); /* the library's, for what it checks */

static input sound[3]; /* state files: heat, wave in f32, transpose */

static void put_checksum(input *in, size_t from, size_t bytes)
{
    if (from + bytes + 4 > in->count) return;
    const uint32_t sum = H5_checksum_metadata(in->bytes + from, bytes, 0);
    memcpy(in->bytes + from + bytes, &sum, 4);
}

/* Of the superblock and of every object header's first piece. */
static void mend_checksums(input *in)
{
    put_checksum(in, 0, 44);
    for (size_t at = 0; at + 16 < in->count; at++) {
        if (memcmp(in->bytes + at, "OHDR", 4) != 0) continue;
        const unsigned flags = (unsigned char)in->bytes[at + 5], width = 1u << (flags & 3);
        const size_t sizes_at = at + 6 + (flags & 0x20 ? 16 : 0) + (flags & 0x10 ? 4 : 0);
        uint64_t bytes = 0;
        if (sizes_at + width > in->count) continue;
        memcpy(&bytes, in->bytes + sizes_at, width);
        if (bytes < in->count) put_checksum(in, at, sizes_at + width + (size_t)bytes - at);
    }
}

static checkpoint_state fields_for(const char *kind, dtype type, int64_t step)
{
    const int fields = strcmp(kind, "heat") == 0 ? 1 : 2;
    checkpoint_state s = { .kind = kind, .type = type, .step = step, .deck = "[grid]\nnx = 37\n", .fields = fields };
    const bool turned = strcmp(kind, "transpose") == 0;
    s.field[0] = fixture_field(turned ? "a" : "u", NX, NY, box_make(0, NX, 0, NY), type);
    if (s.fields == 2 && turned) s.field[1] = fixture_field("b", NY, NX, box_make(0, NY, 0, NX), type);
    if (s.fields == 2 && !turned) s.field[1] = fixture_field("u_prev", NX, NY, box_make(0, NX, 0, NY), type);
    return s;
}

static const struct {
    const char *kind;
    dtype type;
} kinds[] = { { "heat", DTYPE_F64 }, { "wave", DTYPE_F32 }, { "transpose", DTYPE_F64 } };

static void make_sound_files(void)
{
    char path[FIXTURE_PATH_BYTES + 32], why[1024];
    for (int k = 0; k < 3; k++) {
        checkpoint_state s = fields_for(kinds[k].kind, kinds[k].type, 5);
        for (int i = 0; i < s.fields; i++) fixture_fill(&s.field[i], s.type, i);
        snprintf(path, sizeof path, "%s/sound.h5", folder);
        if (checkpoint_write(MPI_COMM_SELF, path, &s, NULL, why, sizeof why) != CHECKPOINT_OK) fail_msg("%s", why);
        FILE *f = fopen(path, "rb");
        sound[k].count = fread(sound[k].bytes, 1, INPUT_MAX, f);
        fclose(f);
        for (int i = 0; i < s.fields; i++) free(s.field[i].data);
    }
}

static const char *try_file(const char *path, int k)
{
    char why[1024] = "";
    checkpoint_report report;
    checkpoint_state s = fields_for(kinds[k].kind, kinds[k].type, 0);
    const char *wrong = NULL;
    shared->probes = true;
    (void)checkpoint_probe_child(path);
    shared->probes = false;
    const checkpoint_status verified = checkpoint_verify(MPI_COMM_SELF, path, &report, why, sizeof why);
    if (verified != CHECKPOINT_OK && !report.damaged && !one_sentence(why)) wrong = "verify fails without a sentence";
    if (report.damaged && !one_sentence(report.damage[0])) wrong = "damage without a sentence";
    why[0] = '\0';
    const checkpoint_status status = checkpoint_read(MPI_COMM_SELF, path, &s, why, sizeof why);
    if (status != CHECKPOINT_OK && !one_sentence(why)) wrong = "a refusal without a sentence";
    for (int i = 0; i < s.fields && status == CHECKPOINT_OK; i++)
        if (!fixture_holds(&s.field[i], s.type, i)) wrong = "other values were taken for whole";
    /* what verify finds whole, a reader of that kind has to take */
    if (verified == CHECKPOINT_OK && strcmp(report.info.kind, s.kind) == 0 && report.info.nx == NX && report.info.ny == NY
        && report.info.type == s.type && status != CHECKPOINT_OK)
        wrong = "verify finds whole what cannot be read";
    checkpoint_info_free(&report.info);
    (void)checkpoint_read_foreign(MPI_COMM_SELF, path, k == 2 ? "/fields/a" : NULL, s.type, NX, NY, box_make(0, NX, 0, NY),
                                  s.field[0].data, NULL, NULL, why, sizeof why);
    for (int i = 0; i < s.fields; i++) free(s.field[i].data);
    return wrong;
}

static const char *file_number(uint64_t seed, input *in)
{
    char path[FIXTURE_PATH_BYTES + 64];
    state_of_chance = seed;
    const int k = (int)chance(3);
    *in = sound[k];
    if (chance(4) == 0) in->count = chance(in->count); /* cut short */
    for (uint64_t i = 1 + chance(8); i > 0; i--) change(in, NULL, 0);
    if (chance(2)) mend_checksums(in);
    snprintf(path, sizeof path, "%s/damaged.%d.h5", folder, (int)getpid());
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(in->bytes, 1, in->count, f) != in->count || fclose(f) != 0) return "no room for a file";
    const char *wrong = try_file(path, k);
    unlink(path);
    return wrong;
}

/* ---- batches in children ---- */

static long peak_kib(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return use.ru_maxrss;
}

static void keep(const input *in, const char *what, long number)
{
    char path[128];
    snprintf(path, sizeof path, "/tmp/weft_fuzz_%s_%ld", what, number);
    FILE *f = fopen(path, "wb");
    if (f) {
        (void)fwrite(in->bytes, 1, in->count, f);
        fclose(f);
    }
    print_error("kept as %s\n", path);
}

static void child(input *in, const char *(*try_number)(uint64_t, input *), uint64_t seed, long first, long end)
{
    static const int ends[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL };
    const long before_kib = peak_kib();
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) (void)signal(ends[i], SIG_DFL); /* the test framework has taken them */
    for (long i = first; i < end; i++) {
        shared->at = i;
        alarm(LIMIT_S);
        const char *wrong = try_number(seed + (uint64_t)i * 1000003, in);
        if (!wrong && KNOWS_PEAK && peak_kib() - before_kib > GROWTH_MAX_KIB) wrong = "much more memory than the input's size";
        if (!wrong) continue;
        snprintf(shared->wrong, sizeof shared->wrong, "%s", wrong);
        _exit(2);
    }
    _exit(0);
}

/* How many of so many inputs ended as they must not. */
static long try_all(const char *what, const char *(*try_number)(uint64_t, input *), long count)
{
    const char *asked = getenv("WEFT_FUZZ_SEED");
    const uint64_t seed = asked ? strtoull(asked, NULL, 10) : 20261121;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    input *in = mmap(NULL, sizeof *in, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true((void *)shared != MAP_FAILED && (void *)in != MAP_FAILED);
    long bad = 0, probes_ended = 0;
    for (long first = 0; first < count;) {
        const long end = count - first < BATCH ? count : first + BATCH;
        int status = 0;
        shared->wrong[0] = '\0';
        shared->probes = false;
        const pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) child(in, try_number, seed, first, end);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        first = end;
        if (status == 0) continue;
        first = shared->at + 1;
        if (shared->probes) {
            probes_ended++;
            continue;
        }
        bad++;
        if (WIFSIGNALED(status)) snprintf(shared->wrong, sizeof shared->wrong, "%s", strsignal(WTERMSIG(status)));
        print_error("%s %ld of seed %llu: %s (status %d)\n", what, shared->at, (unsigned long long)seed, shared->wrong, status);
        keep(in, what, shared->at);
    }
    print_message("%ld inputs of kind '%s', seed %llu: %ld bad; HDF5 ended %ld probes\n", count, what, (unsigned long long)seed,
                  bad, probes_ended);
    munmap(shared, sizeof *shared);
    munmap(in, sizeof *in);
    return bad;
}

static long asked_for(const char *variable, long otherwise)
{
    const char *text = getenv(variable);
    return text ? atol(text) : otherwise;
}

static void damaged_decks(void **state)
{
    (void)state;
    assert_int_equal(try_all("deck", deck_number, asked_for("WEFT_FUZZ_DECKS", 10000)), 0);
}

static void damaged_files(void **state)
{
    (void)state;
    make_sound_files();
    assert_int_equal(try_all("file", file_number, asked_for("WEFT_FUZZ_FILES", 300)), 0);
}

/* A group whose links seem to lie at an address far beyond the file. */
static void what_crashes_hdf5(void **state)
{
    (void)state;
    char path[FIXTURE_PATH_BYTES + 16], why[1024] = "", exe[FIXTURE_PATH_BYTES] = "";
    checkpoint_report report;
    make_sound_files();
    input in = sound[0];
    size_t at = 100; /* behind the root's header: that of /fields */
    while (memcmp(in.bytes + at, "OHDR", 4) != 0) at++;
    in.bytes[at + 16] = (char)0xef;
    mend_checksums(&in);
    snprintf(path, sizeof path, "%s/crash.h5", folder);
    FILE *f = fopen(path, "wb");
    assert_int_equal(fwrite(in.bytes, 1, in.count, f), in.count);
    fclose(f);
    assert_true(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
    checkpoint_probe_by(exe);
    assert_int_equal(checkpoint_verify(MPI_COMM_SELF, path, &report, why, sizeof why), CHECKPOINT_DAMAGED);
    if (!strstr(why, path) || !strstr(why, "HDF5")) fail_msg("%s", why);
    print_message("%s\n", why);
    snprintf(path, sizeof path, "%s/sound.h5", folder);
    assert_int_equal(checkpoint_verify(MPI_COMM_SELF, path, &report, why, sizeof why), CHECKPOINT_OK);
    checkpoint_info_free(&report.info);
    checkpoint_probe_by(NULL);
}

int main(int argc, char **argv)
{
    const size_t probe = strlen(CHECKPOINT_PROBE_ARGUMENT);
    if (argc == 2 && strncmp(argv[1], CHECKPOINT_PROBE_ARGUMENT, probe) == 0) return checkpoint_probe_child(argv[1] + probe);
    char path[FIXTURE_PATH_BYTES + 16];
    omp_set_num_threads(1); /* a team of threads does not come over a fork */
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    fixture_folder(folder);
    snprintf(path, sizeof path, "%s/d.ini", folder);
    FILE *f = fopen(path, "w");
    fputs(decks[0], f);
    fclose(f);
    gather_words();
    const struct CMUnitTest tests[] = { cmocka_unit_test(damaged_decks), cmocka_unit_test(damaged_files),
                                        cmocka_unit_test(what_crashes_hdf5) };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fixture_remove(folder);
    MPI_Finalize();
    return failed ? 1 : 0;
}
