/* Whatever happened to a state file, reading it gives the right bits or DAMAGED with a sentence; never wrong bits.
 * ranks: 1 2 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <hdf5.h>
#include <unistd.h>

#include "checkpoint_fixture.h"

enum { NX = 7, NY = 5, FLIP_STRIDE_BYTES = 5 };
static char folder[FIXTURE_PATH_BYTES], path[FIXTURE_PATH_BYTES + 32], why[512];

static checkpoint_status read_state(int64_t nx, int64_t ny, dtype type)
{
    checkpoint_state s = fixture_state(MPI_COMM_WORLD, nx, ny, type, 0);
    memset(s.field[0].data, 0, (size_t)box_cells(s.field[0].own) * dtype_bytes(type));
    why[0] = '\0';
    const checkpoint_status status = checkpoint_read(MPI_COMM_WORLD, path, &s, why, sizeof why);
    if (status == CHECKPOINT_OK) assert_true(on_all(MPI_COMM_WORLD, fixture_holds(&s.field[0], type, 0)));
    free(s.field[0].data);
    assert_true(on_all(MPI_COMM_WORLD, status == CHECKPOINT_OK || (strstr(why, path) && !strchr(why, '\n'))));
    return status;
}

static void write_state(void)
{
    checkpoint_state s = fixture_state(MPI_COMM_WORLD, NX, NY, DTYPE_F64, 5);
    if (checkpoint_write(MPI_COMM_WORLD, path, &s, NULL, why, sizeof why) != CHECKPOINT_OK) fail_msg("%s", why);
    free(s.field[0].data);
}

static long file_bytes(void)
{
    FILE *f = fopen(path, "rb");
    fseek(f, 0, SEEK_END);
    const long bytes = ftell(f);
    fclose(f);
    return bytes;
}

static void flip(long at)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (fixture_rank(MPI_COMM_WORLD) == 0) fixture_flip(path, at, 0x10);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void flipped_bytes(void **state)
{
    (void)state;
    write_state();
    assert_int_equal(read_state(NX, NY, DTYPE_F64), CHECKPOINT_OK);
    const long bytes = file_bytes(), data_bytes = NX * NY * 8;
    long found = 0, data_found = 0;
    /* Through the data and HDF5's own structures; some bytes of the latter mean nothing. */
    for (long at = 0; at < bytes; at += FLIP_STRIDE_BYTES) {
        flip(at);
        const checkpoint_status status = read_state(NX, NY, DTYPE_F64);
        assert_true(status == CHECKPOINT_OK || status == CHECKPOINT_DAMAGED);
        found += status == CHECKPOINT_DAMAGED;
        data_found += strstr(why, "is damaged: /fields/u") != NULL;
        flip(at);
    }
    assert_int_equal(read_state(NX, NY, DTYPE_F64), CHECKPOINT_OK);
    assert_true(data_found >= data_bytes / FLIP_STRIDE_BYTES);
    assert_true(found > data_found);
}

static void cut_short(void **state)
{
    (void)state;
    write_state();
    const long bytes = file_bytes(), lengths[] = { bytes - 1, bytes - NX * 8, bytes / 2, 100, 1, 0 };
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        if (fixture_rank(MPI_COMM_WORLD) == 0) assert_int_equal(truncate(path, lengths[i]), 0);
        MPI_Barrier(MPI_COMM_WORLD);
        assert_int_equal(read_state(NX, NY, DTYPE_F64), CHECKPOINT_DAMAGED);
        checkpoint_info info;
        assert_int_equal(checkpoint_read_info(MPI_COMM_WORLD, path, &info, why, sizeof why), CHECKPOINT_DAMAGED);
    }
}

static void other_files(void **state)
{
    (void)state;
    checkpoint_info info;
    if (fixture_rank(MPI_COMM_WORLD) == 0) {
        FILE *f = fopen(path, "w");
        fputs("problem = heat\n", f);
        fclose(f);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    assert_int_equal(read_state(NX, NY, DTYPE_F64), CHECKPOINT_DAMAGED);
    assert_non_null(strstr(why, "no HDF5 file"));
    MPI_Barrier(MPI_COMM_WORLD);
    if (fixture_rank(MPI_COMM_WORLD) == 0) unlink(path);
    MPI_Barrier(MPI_COMM_WORLD);
    assert_int_equal(read_state(NX, NY, DTYPE_F64), CHECKPOINT_MISSING);
    assert_non_null(strstr(why, "no such file"));
    assert_int_equal(checkpoint_read_info(MPI_COMM_WORLD, path, &info, why, sizeof why), CHECKPOINT_MISSING);
    assert_int_equal(checkpoint_read_info(MPI_COMM_WORLD, folder, &info, why, sizeof why), CHECKPOINT_MISSING);
    assert_null(info.deck);
}

static void edit(void (*change)(hid_t file))
{
    write_state();
    if (fixture_rank(MPI_COMM_WORLD) == 0) {
        const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
        change(file);
        H5Fclose(file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void without_schema(hid_t file) { H5Adelete(file, "schema_version"); }
static void without_fingerprint(hid_t file) { H5Adelete(file, "fingerprint"); }
static void without_deck(hid_t file) { H5Adelete(file, "deck"); }
static void without_dataset(hid_t file) { H5Ldelete(file, "/fields/u", H5P_DEFAULT); }
static void without_own_fingerprint(hid_t file) { H5Adelete_by_name(file, "/fields/u", "fingerprint", H5P_DEFAULT); }

static void future_schema(hid_t file)
{
    const hid_t a = H5Aopen(file, "schema_version", H5P_DEFAULT);
    const int64_t version = 1000;
    H5Awrite(a, H5T_NATIVE_INT64, &version);
    H5Aclose(a);
}

static void root_fingerprint_of_another_state(hid_t file)
{
    const hid_t a = H5Aopen(file, "fingerprint", H5P_DEFAULT), t = H5Aget_type(a);
    H5Awrite(a, t, "0123456789abcdef");
    H5Tclose(t);
    H5Aclose(a);
}

static void missing_parts(void **state)
{
    (void)state;
    const struct {
        void (*change)(hid_t);
        const char *part;
    } cases[] = {
        { without_schema, "schema_version" },       { without_fingerprint, "fingerprint" },
        { without_deck, "deck" },                   { without_dataset, "/fields/u" },
        { without_own_fingerprint, "fingerprint" }, { future_schema, "schema version 1000" },
        { root_fingerprint_of_another_state, "0123456789abcdef" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        edit(cases[i].change);
        assert_int_equal(read_state(NX, NY, DTYPE_F64), CHECKPOINT_DAMAGED);
        if (!strstr(why, cases[i].part)) fail_msg("\"%s\" does not say \"%s\"", why, cases[i].part);
    }
}

static void other_shape_or_type(void **state)
{
    (void)state;
    write_state();
    assert_int_equal(read_state(NY, NX, DTYPE_F64), CHECKPOINT_DAMAGED);
    assert_non_null(strstr(why, "5 x 7"));
    assert_int_equal(read_state(NX * NY, 1, DTYPE_F64), CHECKPOINT_DAMAGED);
    assert_int_equal(read_state(NX, NY, DTYPE_F32), CHECKPOINT_DAMAGED);
    assert_non_null(strstr(why, "f32"));
}

int main(int argc, char **argv)
{
    checkpoint_before_mpi_init();
    MPI_Init(&argc, &argv);
    fixture_folder(folder);
    snprintf(path, sizeof path, "%s/state.h5", folder);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flipped_bytes), cmocka_unit_test(cut_short),           cmocka_unit_test(other_files),
        cmocka_unit_test(missing_parts), cmocka_unit_test(other_shape_or_type),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fixture_remove(folder);
    MPI_Finalize();
    return failed ? 1 : 0;
}
