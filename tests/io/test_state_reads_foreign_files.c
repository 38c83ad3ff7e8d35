/* A field is read from what other programs write: any number type, byte order and layout; what does not fit
 * is one sentence. ranks: 1 2 3 */
#include <hdf5.h>
#include <unistd.h>

#include "support/state_tests.h"

enum { NX = 30, NY = 21, CELLS = NX * NY };
static char path[FIXTURE_PATH_BYTES + 32];

/* Whole numbers that every type of the table holds. */
static double value_at(int64_t linear) { return (double)(linear * 7 % 101); }

static void put(hid_t file, const char *name, hid_t type, int dims, const hsize_t *shape,
                const hsize_t *chunk, bool deflate)
{
    static double cells[CELLS];
    for (int i = 0; i < CELLS; i++) cells[i] = value_at(i);
    const hid_t links = H5Pcreate(H5P_LINK_CREATE), layout = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    if (chunk) H5Pset_chunk(layout, dims, chunk);
    if (deflate) {
        H5Pset_shuffle(layout);
        H5Pset_deflate(layout, 6);
    }
    const hid_t space = H5Screate_simple(dims, shape, NULL);
    const hid_t dataset = H5Dcreate2(file, name, type, space, links, layout, H5P_DEFAULT);
    if (H5Tget_class(type) != H5T_STRING)
        must(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, cells) >= 0, name);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Pclose(layout);
    H5Pclose(links);
}

static void write_on_rank_0(hid_t type, const char *name, int dims, const hsize_t *shape,
                            const hsize_t *chunk, bool deflate)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (fixture_rank(MPI_COMM_WORLD) == 0) {
        const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        put(file, name, type, dims, shape, chunk, deflate);
        H5Fclose(file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static state_status read_field(const char *file, const char *dataset, dtype type, int64_t nx, int64_t ny,
                               bool *has_prev)
{
    const int ranks = fixture_ranks(MPI_COMM_WORLD), rank = fixture_rank(MPI_COMM_WORLD);
    const box own = fixture_box(nx, ny, ranks, 1, rank);
    void *data = calloc((size_t)box_cells(own) + 1, 8),
         *prev = has_prev ? calloc((size_t)box_cells(own) + 1, 8) : NULL;
    why.text[0] = '\0';
    const state_foreign wanted = { file, dataset, type, nx, ny, own };
    const state_status status = state_read_foreign(MPI_COMM_WORLD, &wanted, data, prev, has_prev, &why);
    bool right = true;
    int64_t i = 0;
    if (status == STATE_OK)
        for (int64_t y = own.y0; y < own.y1; y++)
            for (int64_t x = own.x0; x < own.x1; x++, i++) {
                right = right && fixture_is(data, type, i, value_at(y * nx + x));
                if (has_prev && *has_prev) right = right && fixture_is(prev, type, i, value_at(y * nx + x));
            }
    free(data);
    free(prev);
    assert_true(on_all(MPI_COMM_WORLD, right));
    return status;
}

/* IEEE binary16, which HDF5 1.10 has no name for and h5py builds like this. */
static hid_t half(void)
{
    const hid_t t = H5Tcopy(H5T_IEEE_F32LE);
    H5Tset_fields(t, 15, 10, 5, 0, 10);
    H5Tset_size(t, 2);
    H5Tset_ebias(t, 15);
    return t;
}

static void types_and_layouts(void **unused)
{
    const hid_t f16 = half();
    const hid_t types[] = { H5T_STD_I8LE,   H5T_STD_U8BE,   H5T_STD_I16LE,  H5T_STD_U16BE,
                            H5T_STD_I32BE,  H5T_STD_I64LE,  H5T_STD_U64BE,  H5T_IEEE_F32LE,
                            H5T_IEEE_F32BE, H5T_IEEE_F64LE, H5T_IEEE_F64BE, f16 };
    const hsize_t plane[2] = { NY, NX }, line[2] = { 1, CELLS }, chunk[2] = { 4, 7 }, piece[2] = { 1, 11 };
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
        for (int layout = 0; layout < 3; layout++)
            for (int shape = 0; shape < 3; shape++) { /* (ny, nx), (1, nx), (nx) */
                const hsize_t *chunks = layout == 0  ? NULL
                                        : shape == 0 ? chunk
                                        : shape == 1 ? piece
                                                     : piece + 1;
                const hsize_t *extent = shape == 0 ? plane : shape == 1 ? line : line + 1;
                write_on_rank_0(types[t], "/fields/u", shape == 2 ? 1 : 2, extent, chunks, layout == 2);
                for (int to = 0; to < 2; to++) {
                    const dtype type = to ? DTYPE_F64 : DTYPE_F32;
                    const int64_t nx = shape == 0 ? NX : CELLS, ny = shape == 0 ? NY : 1;
                    const state_status status = read_field(path, "/fields/u", type, nx, ny, NULL);
                    if (status != STATE_OK) fail_msg("%s", why.text);
                }
            }
    H5Tclose(f16);
}

static void rounds_once(void **unused)
{
    const double one_third = 1.0 / 3.0;
    const hsize_t one = 1;
    float f = 0;
    double d = 0;
    write_on_rank_0(H5T_IEEE_F64BE, "/v", 1, &one, NULL, false);
    if (fixture_rank(MPI_COMM_WORLD) == 0) {
        const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), set = H5Dopen2(file, "/v", H5P_DEFAULT);
        must(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &one_third) >= 0, path);
        H5Dclose(set);
        H5Fclose(file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    state_foreign v = { path, "/v", DTYPE_F32, 1, 1, box_make(0, 1, 0, 1) };
    assert_int_equal(state_read_foreign(MPI_COMM_WORLD, &v, &f, NULL, NULL, &why), STATE_OK);
    v.type = DTYPE_F64;
    assert_int_equal(state_read_foreign(MPI_COMM_WORLD, &v, &d, NULL, NULL, &why), STATE_OK);
    assert_true(f == (float)one_third && d == one_third);
}

static void earlier_level(void **unused)
{
    const hsize_t plane[2] = { NY, NX };
    bool has_prev = true;
    write_on_rank_0(H5T_IEEE_F32LE, "/fields/u", 2, plane, NULL, false);
    assert_int_equal(read_field(path, "/fields/u", DTYPE_F64, NX, NY, &has_prev), STATE_OK);
    assert_false(has_prev);
    if (fixture_rank(MPI_COMM_WORLD) == 0) {
        const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
        put(file, "/fields/u_prev", H5T_STD_I16LE, 2, plane, NULL, false);
        H5Fclose(file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    assert_int_equal(read_field(path, "/fields/u", DTYPE_F64, NX, NY, &has_prev), STATE_OK);
    assert_true(has_prev);
}

static void expect_sentence(const char *file, const char *dataset, int64_t nx, int64_t ny, const char *part,
                            const char *more)
{
    assert_int_equal(read_field(file, dataset, DTYPE_F64, nx, ny, NULL), STATE_MISSING);
    assert_non_null(strstr(why.text, file));
    if (!strstr(why.text, part) || !strstr(why.text, more))
        fail_msg("\"%s\" does not say \"%s\" and \"%s\"", why.text, part, more);
}

static void what_does_not_fit(void **unused)
{
    const hsize_t plane[2] = { NY, NX };
    const hsize_t cube[3] = { 3, 7, NX };
    write_on_rank_0(H5T_IEEE_F64LE, "/run/temperature", 2, plane, NULL, false);
    expect_sentence(path, "/fields/u", NX, NY, "no dataset /fields/u", "h5ls -r");
    expect_sentence(path, "/run/temperature/x", NX, NY, "no dataset", "h5ls -r");
    expect_sentence(path, "/run", NX, NY, "no dataset /run", "h5ls -r");
    expect_sentence(path, "/run/temperature", NY, NX, "(21, 30)", "(30, 21)");
    expect_sentence(path, "/run/temperature", NX, NY + 1, "(21, 30)", "(22, 30)");
    expect_sentence(path, "/run/temperature", NX + 1, NY, "(21, 30)", "(21, 31)");
    expect_sentence(path, "/run/temperature", CELLS, 1, "(21, 30)", "(630)");
    expect_sentence(path, "/run/temperature", NX, 1, "(21, 30)", "(grid.nx)");
    write_on_rank_0(H5T_IEEE_F64LE, "/fields/u", 3, cube, NULL, false);
    expect_sentence(path, "/fields/u", NX, NY, "(3, 7, 30)", "(grid.ny, grid.nx)");
    write_on_rank_0(H5T_C_S1, "/fields/u", 2, plane, NULL, false);
    expect_sentence(path, "/fields/u", NX, NY, "no integers or floats", "");
    if (fixture_rank(MPI_COMM_WORLD) == 0) assert_int_equal(truncate(path, 1000), 0);
    MPI_Barrier(MPI_COMM_WORLD);
    expect_sentence(path, "/fields/u", NX, NY, "ic.h5 is damaged or cut off", "");
    assert_null(strstr(why.text, "eof")); /* HDF5's own words */
    if (fixture_rank(MPI_COMM_WORLD) == 0) {
        FILE *f = fopen(path, "w");
        fputs("1 2 3\n", f);
        fclose(f);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    expect_sentence(path, "/fields/u", NX, NY, "not an HDF5 file", "");
    expect_sentence("/nonexistent/ic.h5", "/fields/u", NX, NY, "no such file", "");
    expect_sentence(folder, "/fields/u", NX, NY, "is a directory", "");
}

static size_t as_it_is(unsigned flags, size_t count, const unsigned *values, size_t bytes, size_t *size,
                       void **buffer)
{
    return bytes;
}

static void a_missing_filter_is_named(void **unused)
{
    const H5Z_class2_t own = { H5Z_CLASS_T_VERS, 333, 1, 1, "squeeze", NULL, NULL, as_it_is };
    const hsize_t plane[2] = { NY, NX }, chunk[2] = { 4, 7 };
    const double cells[CELLS] = { 0 };
    if (fixture_rank(MPI_COMM_WORLD) == 0) {
        const hid_t layout = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(2, plane, NULL),
                    file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        must(H5Zregister(&own) >= 0 && H5Pset_chunk(layout, 2, chunk) >= 0 &&
                 H5Pset_filter(layout, own.id, H5Z_FLAG_MANDATORY, 0, NULL) >= 0,
             path);
        const hid_t set = H5Dcreate2(file, "u", H5T_IEEE_F32LE, space, H5P_DEFAULT, layout, H5P_DEFAULT);
        must(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, cells) >= 0, path);
        H5Dclose(set);
        H5Fclose(file);
        H5Sclose(space);
        H5Pclose(layout);
        H5Zunregister(own.id);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    expect_sentence(path, "/u", NX, NY, "needs filter 333 (squeeze)", "HDF5_PLUGIN_PATH");
}

/* ---- values in other files ---- */

static const hsize_t plane_shape[2] = { NY, NX };

/* A file with a dataset /map whose values are in raw.bin, or a view of /map of another file. */
static void elsewhere(hid_t file, bool viewed)
{
    const hid_t layout = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(2, plane_shape, NULL);
    if (viewed) H5Pset_virtual(layout, space, "beside.h5", "/map", space);
    else H5Pset_external(layout, "raw.bin", 16, CELLS * sizeof(double));
    const hid_t dataset = H5Dcreate2(file, "map", H5T_IEEE_F64LE, space, H5P_DEFAULT, layout, H5P_DEFAULT);
    must(dataset >= 0, "no dataset");
    H5Dclose(dataset);
    H5Sclose(space);
    H5Pclose(layout);
}

static void raw(hid_t f) { elsewhere(f, false); }
static void view(hid_t f) { elsewhere(f, true); }
static void link_to(hid_t f) { H5Lcreate_external("beside.h5", "/map", f, "map", H5P_DEFAULT, H5P_DEFAULT); }
static void link_behind_a_link(hid_t f)
{
    H5Lcreate_external("beside.h5", "/map", f, "there", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/there", f, "map", H5P_DEFAULT, H5P_DEFAULT);
}
static void level_before_elsewhere(hid_t f)
{
    put(f, "map", H5T_IEEE_F64LE, 2, plane_shape, NULL, false);
    H5Lcreate_external("beside.h5", "/", f, "fields", H5P_DEFAULT, H5P_DEFAULT);
}

/* raw.bin, whose numbers begin behind 16 bytes, and beside.h5 with /map. */
static void make_others(void)
{
    char name[FIXTURE_PATH_BYTES + 32];
    snprintf(name, sizeof name, "%s/beside.h5", folder);
    const hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    put(file, "map", H5T_IEEE_F64LE, 2, plane_shape, NULL, false);
    H5Fclose(file);
    snprintf(name, sizeof name, "%s/raw.bin", folder);
    FILE *f = fopen(name, "wb");
    for (int i = -2; i < CELLS; i++) fwrite(&(double){ value_at(i) }, sizeof(double), 1, f);
    fclose(f);
}

/* HDF5 would read zeros for what is missing, and look for the rest anywhere. What the sentence proposes
 * works. */
static void values_in_other_files(void **unused)
{
    const struct {
        void (*make)(hid_t file);
        const char *refusal;
        bool repacked;
    } cases[] = {
        { raw, "has values in other files: h5repack", true },
        { view, "has values in other files: h5repack", true },
        { link_to, "no dataset /map in itself", false },
        { link_behind_a_link, "no dataset /map in itself", false },
        { level_before_elsewhere, "no dataset /fields/u_prev in itself", false },
    };
    const bool acts = fixture_rank(MPI_COMM_WORLD) == 0;
    char command[3 * FIXTURE_PATH_BYTES], one[FIXTURE_PATH_BYTES + 32];
    snprintf(one, sizeof one, "%s/one.h5", folder);
    snprintf(command, sizeof command, "cd '%s' && h5repack -l CONTI ic.h5 one.h5", folder);
    if (acts) make_others();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool has_prev = false;
        if (acts) {
            const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
            cases[i].make(file);
            H5Fclose(file);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        assert_int_equal(read_field(path, "/map", DTYPE_F64, NX, NY, &has_prev), STATE_MISSING);
        if (!strstr(why.text, cases[i].refusal)) fail_msg("case %zu: %s", i, why.text);
        int packed = acts && cases[i].repacked ? system(command) : 0;
        MPI_Bcast(&packed, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (packed == 127 << 8) print_message("no h5repack here\n");
        else if (cases[i].repacked && read_field(one, "/map", DTYPE_F64, NX, NY, NULL) != STATE_OK)
            fail_msg("%s", why.text);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* A state of weft, of parts, in the other type; a part that is lost is no zeros. */
static void a_state_of_parts(void **unused)
{
    const int ranks = fixture_ranks(MPI_COMM_WORLD), rank = fixture_rank(MPI_COMM_WORLD);
    char name[FIXTURE_PATH_BYTES + 32], command[2 * FIXTURE_PATH_BYTES];
    state_level l = fixture_state(MPI_COMM_WORLD, NX, NY, DTYPE_F32, 3);
    snprintf(name, sizeof name, "%s/own.h5", folder);
    assert_int_equal(fixture_write(MPI_COMM_WORLD, name, &l, ranks, &why), STATE_OK);
    const box own = fixture_box(NX, NY, ranks, 1, rank);
    double *data = calloc((size_t)box_cells(own) + 1, sizeof *data);
    const state_foreign wanted = { name, "/fields/u", DTYPE_F64, NX, NY, own };
    bool has_prev = true, right = true;
    const state_status status = state_read_foreign(MPI_COMM_WORLD, &wanted, data, data, &has_prev, &why);
    if (status != STATE_OK) fail_msg("%s", why.text);
    assert_false(has_prev);
    int64_t i = 0;
    for (int64_t y = own.y0; y < own.y1; y++)
        for (int64_t x = own.x0; x < own.x1; x++)
            right = right && data[i++] == (double)(float)fixture_value(0, y * NX + x);
    assert_true(on_all(MPI_COMM_WORLD, right));
    MPI_Barrier(MPI_COMM_WORLD);
    snprintf(command, sizeof command, "rm -f '%s'/own.*/0.h5", folder);
    if (rank == 0 && system(command) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    const state_status lost = state_read_foreign(MPI_COMM_WORLD, &wanted, data, NULL, NULL, &why);
    if (ranks > 1) assert_int_equal(lost, STATE_DAMAGED);
    if (ranks > 1) assert_non_null(strstr(why.text, "is not there"));
    free(data);
    free(l.field[0].data);
}

static int set_up(void **unused)
{
    snprintf(path, sizeof path, "%s/ic.h5", folder);
    return 0;
}

STATE_TESTS(set_up, cmocka_unit_test(types_and_layouts), cmocka_unit_test(rounds_once),
            cmocka_unit_test(earlier_level), cmocka_unit_test(what_does_not_fit),
            cmocka_unit_test(a_missing_filter_is_named),
            cmocka_unit_test(values_in_other_files), cmocka_unit_test(a_state_of_parts))
