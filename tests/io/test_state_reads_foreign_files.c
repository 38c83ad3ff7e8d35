/* A field is read from what other programs write: any number type, byte order and layout; what does not fit
 * is one sentence. ranks: 1 2 3 */
#include <hdf5.h>
#include <unistd.h>

#include "support/state_tests.h"

enum { NX = 30, NY = 21, CELLS = NX * NY };
static const hsize_t plane[2] = { NY, NX };
static char path[FIXTURE_PATH_BYTES + 32];

/* Whole numbers that every type of the table holds, and thirds, which f32 rounds. */
static double whole(int64_t linear) { return (double)(linear * 7 % 101); }
static double third(int64_t linear) { return whole(linear) / 3; }
static double of_state(int64_t linear) { return (double)(float)fixture_value(0, linear); }
static double (*value_at)(int64_t linear) = whole;

static void put(hid_t file, const char *name, hid_t type, int dims, const hsize_t *shape, hid_t layout)
{
    static double cells[CELLS];
    for (int i = 0; i < CELLS; i++) cells[i] = value_at(i);
    const hid_t links = H5Pcreate(H5P_LINK_CREATE), space = H5Screate_simple(dims, shape, NULL);
    H5Pset_create_intermediate_group(links, 1);
    const hid_t dataset = H5Dcreate2(file, name, type, space, links, layout, H5P_DEFAULT);
    must(dataset >= 0, name);
    if (H5Tget_class(type) != H5T_STRING && H5Pget_layout(H5Dget_create_plist(dataset)) != H5D_VIRTUAL)
        must(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, cells) >= 0, name);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Pclose(links);
}

/* On rank 0, between barriers; afresh: a new file. */
static void put_in_file(bool afresh, const char *name, hid_t type, int dims, const hsize_t *shape,
                        hid_t layout)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (fixture_rank(MPI_COMM_WORLD) == 0) {
        const hid_t file = afresh ? H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)
                                  : H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
        put(file, name, type, dims, shape, layout);
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
    for (int64_t y = own.y0; y < own.y1 && status == STATE_OK; y++)
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
    const hid_t types[] = { H5T_STD_I8LE,   H5T_STD_U8BE,   H5T_STD_I16LE,  H5T_STD_U16BE,
                            H5T_STD_I32BE,  H5T_STD_I64LE,  H5T_STD_U64BE,  half(),
                            H5T_IEEE_F32LE, H5T_IEEE_F32BE, H5T_IEEE_F64LE, H5T_IEEE_F64BE };
    const hsize_t line[2] = { 1, CELLS }, chunk[2] = { 4, 7 }, piece[2] = { 1, 11 };
    for (int t = 0; t < 12; t++)
        for (int form = 0; form < 3; form++)          /* contiguous, chunked, compressed */
            for (int shape = 0; shape < 3; shape++) { /* (ny, nx), (1, nx), (nx) */
                const int flat = shape == 2;
                const hid_t layout = H5Pcreate(H5P_DATASET_CREATE);
                value_at = t < 10 ? whole : third;
                if (form > 0) H5Pset_chunk(layout, 2 - flat, (shape ? piece : chunk) + flat);
                if (form > 1) H5Pset_shuffle(layout);
                if (form > 1) H5Pset_deflate(layout, 6);
                put_in_file(true, "/fields/u", types[t], 2 - flat, (shape ? line : plane) + flat, layout);
                for (int to = 0; to < 2; to++)
                    if (read_field(path, "/fields/u", to ? DTYPE_F64 : DTYPE_F32, shape ? CELLS : NX,
                                   shape ? 1 : NY, NULL) != STATE_OK)
                        fail_msg("%s", why.text);
                H5Pclose(layout);
            }
    value_at = whole;
}

static void earlier_level(void **unused)
{
    bool has_prev = true;
    put_in_file(true, "/fields/u", H5T_IEEE_F32LE, 2, plane, H5P_DEFAULT);
    assert_int_equal(read_field(path, "/fields/u", DTYPE_F64, NX, NY, &has_prev), STATE_OK);
    assert_false(has_prev);
    put_in_file(false, "/fields/u_prev", H5T_STD_I16LE, 2, plane, H5P_DEFAULT);
    assert_int_equal(read_field(path, "/fields/u", DTYPE_F64, NX, NY, &has_prev), STATE_OK);
    assert_true(has_prev);
}

static void expect_sentence(const char *file, const char *dataset, int64_t nx, int64_t ny, const char *part,
                            const char *more)
{
    assert_int_equal(read_field(file, dataset, DTYPE_F64, nx, ny, NULL), STATE_MISSING);
    if (!strstr(why.text, file) || !strstr(why.text, part) || !strstr(why.text, more))
        fail_msg("\"%s\" does not say \"%s\" and \"%s\"", why.text, part, more);
}

static void what_does_not_fit(void **unused)
{
    const struct {
        const char *dataset;
        int64_t nx, ny;
        const char *part, *more;
    } cases[] = {
        { "/fields/u", NX, NY, "no dataset /fields/u", "h5ls -r" },
        { "/run/temperature/x", NX, NY, "no dataset", "h5ls -r" },
        { "/run", NX, NY, "no dataset /run", "h5ls -r" },
        { "/run/temperature", NY, NX, "(21, 30)", "(30, 21)" },
        { "/run/temperature", NX, NY + 1, "(21, 30)", "(22, 30)" },
        { "/run/temperature", NX + 1, NY, "(21, 30)", "(21, 31)" },
        { "/run/temperature", CELLS, 1, "(21, 30)", "(630)" },
        { "/run/temperature", NX, 1, "(21, 30)", "(grid.nx)" },
        { "/run/cube", NX, NY, "(3, 7, 30)", "(grid.ny, grid.nx)" },
        { "/run/text", NX, NY, "no integers or floats", "" },
    };
    put_in_file(true, "/run/temperature", H5T_IEEE_F64LE, 2, plane, H5P_DEFAULT);
    put_in_file(false, "/run/cube", H5T_IEEE_F64LE, 3, (const hsize_t[]){ 3, 7, NX }, H5P_DEFAULT);
    put_in_file(false, "/run/text", H5T_C_S1, 2, plane, H5P_DEFAULT);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_sentence(path, cases[i].dataset, cases[i].nx, cases[i].ny, cases[i].part, cases[i].more);
    MPI_Barrier(MPI_COMM_WORLD);
    if (fixture_rank(MPI_COMM_WORLD) == 0) assert_int_equal(truncate(path, 1000), 0);
    MPI_Barrier(MPI_COMM_WORLD);
    expect_sentence(path, "/fields/u", NX, NY, "ic.h5 is damaged or cut off", "");
    assert_null(strstr(why.text, "eof")); /* HDF5's own words */
    MPI_Barrier(MPI_COMM_WORLD);
    if (fixture_rank(MPI_COMM_WORLD) == 0) assert_int_equal(truncate(path, 4), 0);
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
    const hid_t layout = H5Pcreate(H5P_DATASET_CREATE);
    assert_true(H5Zregister(&own) >= 0 && H5Pset_chunk(layout, 2, (const hsize_t[]){ 4, 7 }) >= 0 &&
                H5Pset_filter(layout, own.id, H5Z_FLAG_MANDATORY, 0, NULL) >= 0);
    put_in_file(true, "/u", H5T_IEEE_F32LE, 2, plane, layout);
    H5Zunregister(own.id);
    H5Pclose(layout);
    assert_int_equal(read_field(path, "/u", DTYPE_F64, NX, NY, NULL), STATE_DAMAGED);
    if (!strstr(why.text, "required filter 'squeeze' is not registered")) fail_msg("%s", why.text);
}

/* ---- values in other files ---- */

/* A dataset /map whose values are in raw.bin, or a view of /map of another file. */
static void elsewhere(hid_t file, bool viewed)
{
    const hid_t layout = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(2, plane, NULL);
    if (viewed) H5Pset_virtual(layout, space, "beside.h5", "/map", space);
    else H5Pset_external(layout, "raw.bin", 16, CELLS * sizeof(double));
    put(file, "map", H5T_IEEE_F64LE, 2, plane, layout);
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
    put(f, "map", H5T_IEEE_F64LE, 2, plane, H5P_DEFAULT);
    H5Lcreate_external("beside.h5", "/", f, "fields", H5P_DEFAULT, H5P_DEFAULT);
}
static void whole_map(hid_t f) { put(f, "map", H5T_IEEE_F64LE, 2, plane, H5P_DEFAULT); }

static void make_file(const char *name, void (*make)(hid_t file))
{
    if (fixture_rank(MPI_COMM_WORLD) == 0) {
        const hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        make(file);
        H5Fclose(file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
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
    char command[3 * FIXTURE_PATH_BYTES], one[FIXTURE_PATH_BYTES + 32], beside[FIXTURE_PATH_BYTES + 32];
    snprintf(one, sizeof one, "%s/one.h5", folder);
    snprintf(beside, sizeof beside, "%s/beside.h5", folder);
    snprintf(command, sizeof command, "cd '%s' && h5repack -l CONTI ic.h5 one.h5", folder);
    if (acts && chdir(folder) != 0) abort(); /* HDF5 writes raw.bin where it is */
    make_file(beside, whole_map);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool has_prev = false;
        make_file(path, cases[i].make);
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
    const int ranks = fixture_ranks(MPI_COMM_WORLD);
    char name[FIXTURE_PATH_BYTES + 32], command[2 * FIXTURE_PATH_BYTES];
    state_level l = fixture_state(MPI_COMM_WORLD, NX, NY, DTYPE_F32, 3);
    bool has_prev = true;
    value_at = of_state;
    snprintf(name, sizeof name, "%s/own.h5", folder);
    assert_int_equal(fixture_write(MPI_COMM_WORLD, name, &l, ranks, &why), STATE_OK);
    if (read_field(name, "/fields/u", DTYPE_F64, NX, NY, &has_prev) != STATE_OK) fail_msg("%s", why.text);
    assert_false(has_prev);
    snprintf(command, sizeof command, "rm -f '%s'/own.*/0.h5", folder);
    if (fixture_rank(MPI_COMM_WORLD) == 0 && system(command) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    if (ranks > 1) assert_int_equal(read_field(name, "/fields/u", DTYPE_F64, NX, NY, NULL), STATE_DAMAGED);
    if (ranks > 1) assert_non_null(strstr(why.text, "is not there"));
    free(l.field[0].data);
}

static int set_up(void **unused)
{
    snprintf(path, sizeof path, "%s/ic.h5", folder);
    return 0;
}

STATE_TESTS(set_up, cmocka_unit_test(types_and_layouts), cmocka_unit_test(earlier_level),
            cmocka_unit_test(what_does_not_fit), cmocka_unit_test(a_missing_filter_is_named),
            cmocka_unit_test(values_in_other_files), cmocka_unit_test(a_state_of_parts))
