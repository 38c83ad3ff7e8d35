/* Whatever a state file holds, reading it ends: with its values, or with one sentence. Nothing crashes,
 * hangs, or takes much memory, and no file is taken for whole that holds other values.
 *
 * Inputs are those of fuzz.h; in every other file the library's own checksums over its structures are made
 * right again, so that what lies behind them is reached. Only in the look at a file that a process of its own
 * has, checkpoint_probe.h, may HDF5 crash, and that in few. WEFT_FUZZ_FILES says how many files. ranks: 1
 * release: the memory that a file takes, and three times as many files */
#include "support/fuzz_files.h"

#include <omp.h>

static const char *file_number(uint64_t seed, fuzz_input *in)
{
    char path[FIXTURE_PATH_BYTES + 64];
    fuzz_state = seed;
    const int k = (int)fuzz_chance(SOUND_FILES);
    *in = sound[k];
    if (fuzz_chance(4) == 0) in->count = fuzz_chance(in->count); /* cut short */
    for (uint64_t i = 1 + fuzz_chance(8); i > 0; i--) fuzz_change(in, NULL, 0);
    if (fuzz_chance(2)) mend_checksums(in);
    snprintf(path, sizeof path, "%s/damaged.%d.h5", folder, (int)getpid());
    put_bytes(path, in);
    const char *wrong = probe_lives(path) ? read_file(path, k) : NULL;
    read_foreign_file(path, k);
    unlink(path);
    return wrong;
}

static void damaged_files(void **state)
{
    (void)state;
    /* two forks each, which take them long */
    const long files = fuzz_asked("WEFT_FUZZ_FILES", SANITIZED ? 100 : 300);
    probes_ended =
        mmap(NULL, sizeof *probes_ended, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true((void *)probes_ended != MAP_FAILED);
    make_sound_files();
    const long bad = fuzz_all("file", file_number, files);
    print_message("%ld of %ld files ended the process that looks first\n", *probes_ended, files);
    assert_int_equal(bad, 0);
    assert_true(*probes_ended * 50 <= files); /* HDF5's faults are rare; ours may be met by every file */
}

/* weft verify of it and a restart from it, where a process that looks first is this program. */
static void is_refused(fuzz_input *in)
{
    sentence why = { "" };
    char path[FIXTURE_PATH_BYTES + 16];
    checkpoint_report report;
    checkpoint_info info;
    mend_checksums(in);
    snprintf(path, sizeof path, "%s/crash.h5", folder);
    put_bytes(path, in);
    assert_int_equal(checkpoint_read_info(MPI_COMM_SELF, path, &info, &why), CHECKPOINT_DAMAGED);
    assert_int_equal(checkpoint_verify(MPI_COMM_SELF, path, &report, &why), CHECKPOINT_DAMAGED);
    /* HDF5 1.14 */
    if (!strstr(why.text, path) || !(strstr(why.text, "HDF5") || strstr(why.text, "/fields/u is not there")))
        fail_msg("%s", why.text);
    print_message("%s\n", why.text);
}

static void what_crashes_hdf5(void **state)
{
    (void)state;
    static const char chunk[] = { 5, 0, 0, 0, 7, 0, 0, 0 };
    sentence why = { "" };
    char path[FIXTURE_PATH_BYTES + 16], exe[FIXTURE_PATH_BYTES] = "";
    checkpoint_report report;
    assert_true(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
    make_sound_files();
    checkpoint_probe_by(exe);
    fuzz_input in = sound[0]; /* a group whose links seem to lie at an address far beyond the file */
    size_t at = 100;          /* behind the root's header: that of /fields */
    while (memcmp(in.bytes + at, "OHDR", 4) != 0) at++;
    in.bytes[at + 16] = (char)0xef;
    is_refused(&in);
    in = sound[REPACKED]; /* rows of 65287 cells in a chunk of 280 bytes */
    for (at = 0; memcmp(in.bytes + at, chunk, sizeof chunk) != 0; at++)
        assert_true(at + sizeof chunk < in.count);
    in.bytes[at + 5] = (char)0xff;
    is_refused(&in);
    snprintf(path, sizeof path, "%s/sound.h5", folder);
    for (int k = 0; k < SOUND_FILES; k++) {
        put_bytes(path, &sound[k]);
        assert_int_equal(checkpoint_verify(MPI_COMM_SELF, path, &report, &why), CHECKPOINT_OK);
        checkpoint_info_free(&report.info);
    }
    checkpoint_probe_by(NULL);
}

static void put_long_checksums(const char *path)
{
    const hsize_t one = 1;
    const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), space = H5Screate_simple(1, &one, NULL);
    const hid_t number = H5Tcopy(H5T_STD_U64LE);
    assert_true(H5Tset_size(number, 8191) >= 0 && H5Ldelete(file, "/checksums/u", H5P_DEFAULT) >= 0);
    const hid_t dataset =
        H5Dcreate2(file, "/checksums/u", number, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(checkpoint_h5_put_integer(dataset, "block_rows", NY));
    H5Dclose(dataset);
    H5Tclose(number);
    H5Sclose(space);
    H5Fclose(file);
}

/* HDF5 makes room for a chunk, and for a number, as long as the file says. */
static void what_asks_for_memory(void **state)
{
    (void)state;
    static const char chunk[] = { 5, 0, 0, 0, 7, 0, 0, 0 }, long_rows[] = { (char)0xff, (char)0xff };
    sentence why = { "" };
    char path[FIXTURE_PATH_BYTES + 16];
    checkpoint_report report;
    size_t at = 0;
    snprintf(path, sizeof path, "%s/large.h5", folder);
    make_sound_files();
    fuzz_input in = sound[REPACKED];
    while (memcmp(in.bytes + at, chunk, sizeof chunk) != 0) at++;
    memcpy(in.bytes + at + 5, long_rows, sizeof long_rows);
    mend_checksums(&in);
    put_bytes(path, &in);
    assert_int_equal(checkpoint_verify(MPI_COMM_SELF, path, &report, &why), CHECKPOINT_DAMAGED);
    if (!strstr(why.text, "/fields/u has chunks larger than itself")) fail_msg("%s", why.text);
    put_bytes(path, &sound[0]);
    put_long_checksums(path);
    assert_int_equal(checkpoint_verify(MPI_COMM_SELF, path, &report, &why), CHECKPOINT_DAMAGED);
    if (!strstr(why.text, "/checksums/u cannot be read as")) fail_msg("%s", why.text);
}

int main(int argc, char **argv)
{
    const size_t probe = strlen(CHECKPOINT_PROBE_ARGUMENT);
    if (argc == 2 && strncmp(argv[1], CHECKPOINT_PROBE_ARGUMENT, probe) == 0)
        return checkpoint_probe_child(argv[1] + probe);
    omp_set_num_threads(1); /* a team of threads does not come over a fork */
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    fixture_folder(folder);
    const struct CMUnitTest tests[] = { cmocka_unit_test(damaged_files), cmocka_unit_test(what_crashes_hdf5),
                                        cmocka_unit_test(what_asks_for_memory) };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fixture_remove(folder);
    MPI_Finalize();
    return failed ? 1 : 0;
}
