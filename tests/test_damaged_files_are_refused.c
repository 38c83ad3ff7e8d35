/* Whatever a state file holds, reading it ends: with its values, or with one sentence. Nothing crashes, hangs, or takes much
 * memory, and no file is taken for whole that holds other values.
 *
 * Inputs are those of fuzz.h; in every other file the library's own checksums over its structures are made right again, so that
 * what lies behind them is reached. Only in the look at a file that a process of its own has, checkpoint_probe.h, may HDF5 crash,
 * and that in few. WEFT_FUZZ_FILES says how many files.
 * ranks: 1 */
#include "fuzz.h"

#include <omp.h>

#include "checkpoint_fixture.h"
#include "checkpoint_probe.h"

enum { NX = 37, NY = 23 };

static char folder[FIXTURE_PATH_BYTES];

extern uint32_t H5_checksum_metadata(const void *data, size_t bytes, uint32_t start); /* the library's, for what it checks */

static long *probes_ended; /* shared with the children; by a crash, or by what a sanitizer found */

static fuzz_input sound[3]; /* state files: heat, wave in f32, transpose */

static void put_checksum(fuzz_input *in, size_t from, size_t bytes)
{
    if (from + bytes + 4 > in->count) return;
    const uint32_t sum = H5_checksum_metadata(in->bytes + from, bytes, 0);
    memcpy(in->bytes + from + bytes, &sum, 4);
}

/* Of the superblock and of every object header's first piece. */
static void mend_checksums(fuzz_input *in)
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
        sound[k].count = fread(sound[k].bytes, 1, FUZZ_INPUT_MAX, f);
        fclose(f);
        for (int i = 0; i < s.fields; i++) free(s.field[i].data);
    }
}

/* In a process of its own, as in the program: what HDF5 has written where it should not is gone with it. */
static bool probe_lives(const char *path)
{
    int status = 0;
    const pid_t pid = fork();
    if (pid == 0) _exit(checkpoint_probe_child(path));
    if (pid < 0 || waitpid(pid, &status, 0) != pid) abort();
    if (status != 0) (*probes_ended)++;
    return status == 0;
}

static const char *try_file(const char *path, int k)
{
    char why[1024] = "";
    checkpoint_report report;
    checkpoint_state s = fields_for(kinds[k].kind, kinds[k].type, 0);
    const char *wrong = NULL;
    if (!probe_lives(path)) return NULL;
    const checkpoint_status verified = checkpoint_verify(MPI_COMM_SELF, path, &report, why, sizeof why);
    if (verified != CHECKPOINT_OK && !report.damaged && !fuzz_one_sentence(why)) wrong = "verify fails without a sentence";
    if (report.damaged && !fuzz_one_sentence(report.damage[0])) wrong = "damage without a sentence";
    why[0] = '\0';
    const checkpoint_status status = checkpoint_read(MPI_COMM_SELF, path, &s, why, sizeof why);
    if (status != CHECKPOINT_OK && !fuzz_one_sentence(why)) wrong = "a refusal without a sentence";
    for (int i = 0; i < s.fields && status == CHECKPOINT_OK; i++)
        if (!fixture_holds(&s.field[i], s.type, i)) wrong = "other values were taken for whole";
    /* what verify finds whole, a reader of that kind has to take */
    if (verified == CHECKPOINT_OK && strcmp(report.info.kind, s.kind) == 0 && report.info.nx == NX && report.info.ny == NY
        && report.info.type == s.type && status != CHECKPOINT_OK)
        wrong = "verify finds whole what cannot be read";
    checkpoint_info_free(&report.info);
    const checkpoint_foreign first = { path, k == 2 ? "/fields/a" : NULL, s.type, NX, NY, box_make(0, NX, 0, NY) };
    (void)checkpoint_read_foreign(MPI_COMM_SELF, &first, s.field[0].data, NULL, NULL, why, sizeof why);
    for (int i = 0; i < s.fields; i++) free(s.field[i].data);
    return wrong;
}

static const char *file_number(uint64_t seed, fuzz_input *in)
{
    char path[FIXTURE_PATH_BYTES + 64];
    fuzz_state = seed;
    const int k = (int)fuzz_chance(3);
    *in = sound[k];
    if (fuzz_chance(4) == 0) in->count = fuzz_chance(in->count); /* cut short */
    for (uint64_t i = 1 + fuzz_chance(8); i > 0; i--) fuzz_change(in, NULL, 0);
    if (fuzz_chance(2)) mend_checksums(in);
    snprintf(path, sizeof path, "%s/damaged.%d.h5", folder, (int)getpid());
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(in->bytes, 1, in->count, f) != in->count || fclose(f) != 0) return "no room for a file";
    const char *wrong = try_file(path, k);
    unlink(path);
    return wrong;
}

static void damaged_files(void **state)
{
    (void)state;
    const long files = fuzz_asked("WEFT_FUZZ_FILES", 300);
    probes_ended = mmap(NULL, sizeof *probes_ended, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true((void *)probes_ended != MAP_FAILED);
    make_sound_files();
    const long bad = fuzz_all("file", file_number, files);
    print_message("%ld of %ld files ended the process that looks first\n", *probes_ended, files);
    assert_int_equal(bad, 0);
    assert_true(*probes_ended * 50 <= files); /* HDF5's faults are rare; ours may be met by every file */
}

/* A group whose links seem to lie at an address far beyond the file. */
static void what_crashes_hdf5(void **state)
{
    (void)state;
    char path[FIXTURE_PATH_BYTES + 16], why[1024] = "", exe[FIXTURE_PATH_BYTES] = "";
    checkpoint_report report;
    make_sound_files();
    fuzz_input in = sound[0];
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
    omp_set_num_threads(1); /* a team of threads does not come over a fork */
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    fixture_folder(folder);
    const struct CMUnitTest tests[] = { cmocka_unit_test(damaged_files), cmocka_unit_test(what_crashes_hdf5) };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fixture_remove(folder);
    MPI_Finalize();
    return failed ? 1 : 0;
}
