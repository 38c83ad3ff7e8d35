/* A field is read from what other programs write: any number type, byte order and layout; what does not fit
 * is one sentence. ranks: 1 3 */
#include "support/state_tests.h"

enum { NX = 30, NY = 21, CELLS = NX * NY, PATH = FIXTURE_PATH_BYTES + 32 };
static const hsize_t plane[2] = { NY, NX }, cube[3] = { 3, 7, NX };
static char path[PATH], beside[PATH];

/* Whole numbers that every type of the table holds, and thirds, which f32 rounds. */
static double whole(int64_t linear) { return (double)(linear * 7 % 101); }
static double third(int64_t linear) { return whole(linear) / 3; }
static double of_state(int64_t linear) { return (double)(float)fixture_value(0, linear); }
static double (*value_at)(int64_t linear) = whole;

static void put(hid_t file, const char *name, hid_t type, int dims, const hsize_t *shape, hid_t layout)
{
    static double cells[CELLS];
    for (int i = 0; i < CELLS; i++) cells[i] = value_at(i);
    STATE_H5_SCOPED const hid_t links = H5Pcreate(H5P_LINK_CREATE),
                                space = H5Screate_simple(dims, shape, NULL);
    H5Pset_create_intermediate_group(links, 1);
    STATE_H5_SCOPED const hid_t dataset = H5Dcreate2(file, name, type, space, links, layout, H5P_DEFAULT);
    must(dataset >= 0, name);
    if (H5Tget_class(type) != H5T_STRING && H5Pget_layout(H5Dget_create_plist(dataset)) != H5D_VIRTUAL)
        must(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, cells) >= 0, name);
}

/* By rank 0, while the others wait. */
static void make_file(const char *name, void (*make)(hid_t file))
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        const hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        make(file);
        H5Fclose(file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Its values must be right where it is read. */
static state_status read_field(const char *file, const char *dataset, dtype type, int64_t nx, int64_t ny,
                               bool *has_prev)
{
    const box own = fixture_box(nx, ny, ranks, 1, rank);
    void *const data[2] = { calloc((size_t)box_cells(own) + 1, 8), calloc((size_t)box_cells(own) + 1, 8) };
    const state_foreign wanted = { file, dataset, type, nx, ny, own };
    const state_status status =
        state_read_foreign(MPI_COMM_WORLD, &wanted, data[0], has_prev ? data[1] : NULL, has_prev, &why);
    bool right = true;
    for (int k = 0; k < (has_prev && *has_prev ? 2 : 1) && status == STATE_OK; k++)
        for (int64_t i = 0; i < box_cells(own); i++)
            right = right && fixture_is(data[k], type, i, value_at(fixture_place(own, nx, i)));
    free(data[0]);
    free(data[1]);
    assert_true(on_all(right));
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

static struct {
    hid_t type, layout;
    int dims;
    const hsize_t *shape;
} field;
static void the_field(hid_t f) { put(f, "/fields/u", field.type, field.dims, field.shape, field.layout); }

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
                field.type = types[t];
                field.layout = H5Pcreate(H5P_DATASET_CREATE);
                field.dims = 2 - flat;
                field.shape = (shape ? line : plane) + flat;
                value_at = t < 10 ? whole : third;
                if (form > 0) H5Pset_chunk(field.layout, 2 - flat, (shape ? piece : chunk) + flat);
                if (form > 1) H5Pset_shuffle(field.layout);
                if (form > 1) H5Pset_deflate(field.layout, 6);
                make_file(path, the_field);
                for (int as = 0; as < 2; as++)
                    if (read_field(path, "/fields/u", as ? DTYPE_F64 : DTYPE_F32, shape ? CELLS : NX,
                                   shape ? 1 : NY, NULL) != STATE_OK)
                        fail_msg("%s", why.text);
                H5Pclose(field.layout);
            }
    value_at = whole;
}

/* ---- what does not fit; and values in other files, for which HDF5 reads zeros where they are missing ----
 */

static size_t as_it_is(unsigned flags, size_t count, const unsigned *values, size_t bytes, size_t *size,
                       void **buffer)
{
    return bytes;
}

static void map(hid_t f) { put(f, "/map", H5T_IEEE_F64LE, 2, plane, H5P_DEFAULT); }
static void cubes(hid_t f) { put(f, "/map", H5T_IEEE_F64LE, 3, cube, H5P_DEFAULT); }
static void words(hid_t f) { put(f, "/map", H5T_C_S1, 2, plane, H5P_DEFAULT); }
static void both_levels(hid_t f)
{
    map(f);
    put(f, "/fields/u_prev", H5T_STD_I16LE, 2, plane, H5P_DEFAULT);
}
static void squeezed(hid_t f)
{
    const H5Z_class2_t own = { H5Z_CLASS_T_VERS, 333, 1, 1, "squeeze", NULL, NULL, as_it_is };
    STATE_H5_SCOPED const hid_t layout = H5Pcreate(H5P_DATASET_CREATE);
    must(H5Zregister(&own) >= 0 && H5Pset_chunk(layout, 2, (const hsize_t[]){ 4, 7 }) >= 0 &&
             H5Pset_filter(layout, own.id, H5Z_FLAG_MANDATORY, 0, NULL) >= 0,
         "filter");
    put(f, "/map", H5T_IEEE_F32LE, 2, plane, layout);
    H5Fflush(f, H5F_SCOPE_LOCAL);
    H5Zunregister(own.id);
}
static void shuffled(hid_t f)
{
    STATE_H5_SCOPED const hid_t layout = H5Pcreate(H5P_DATASET_CREATE);
    must(H5Pset_chunk(layout, 2, plane) >= 0 && H5Pset_fletcher32(layout) >= 0, "chunk");
    put(f, "/map", H5T_IEEE_F32LE, 2, plane, layout);
}
static void raw(hid_t f)
{
    STATE_H5_SCOPED const hid_t layout = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(layout, "raw.bin", 16, CELLS * sizeof(double));
    put(f, "map", H5T_IEEE_F64LE, 2, plane, layout);
}
static void view(hid_t f)
{
    STATE_H5_SCOPED const hid_t layout = H5Pcreate(H5P_DATASET_CREATE),
                                space = H5Screate_simple(2, plane, NULL);
    H5Pset_virtual(layout, space, "beside.h5", "/map", space);
    put(f, "map", H5T_IEEE_F64LE, 2, plane, layout);
}
static void link_to(hid_t f) { H5Lcreate_external("beside.h5", "/map", f, "map", H5P_DEFAULT, H5P_DEFAULT); }
static void link_behind_a_link(hid_t f)
{
    H5Lcreate_external("beside.h5", "/map", f, "there", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/there", f, "map", H5P_DEFAULT, H5P_DEFAULT);
}
static void level_before_elsewhere(hid_t f)
{
    map(f);
    H5Lcreate_external("beside.h5", "/", f, "fields", H5P_DEFAULT, H5P_DEFAULT);
}

static void what_fits_and_what_does_not(void **unused)
{
    static const char others[] = "has values in other files: h5repack", none[] = "no dataset /map in itself",
                      repack[] = "h5repack -l CONTI ic.h5 one.h5 && mv one.h5 ic.h5";
    const struct {
        void (*make)(hid_t file);
        const char *dataset;
        int64_t nx, ny;
        const char *then;        /* done by the shell before it is read */
        const char *part, *more; /* of the sentence; NULL: it is read */
    } cases[] = {
        { map, "/map", NX, NY, ":", NULL, "" },
        { both_levels, "/map", NX, NY, ":", NULL, "" },
        { map, "/fields/u", NX, NY, ":", "no dataset /fields/u", "h5ls -r" },
        { both_levels, "/fields", NX, NY, ":", "no dataset /fields", "h5ls -r" },
        { map, "/map", NY, NX, ":", "(21, 30)", "(30, 21)" },
        { map, "/map", NX, NY + 1, ":", "(21, 30)", "(22, 30)" },
        { map, "/map", CELLS, 1, ":", "(21, 30)", "(grid.nx) = (630)" },
        { cubes, "/map", NX, NY, ":", "(3, 7, 30)", "(grid.ny, grid.nx)" },
        { words, "/map", NX, NY, ":", "no integers or floats", "" },
        { map, "/map", NX, NY, "truncate -s 1000 ic.h5", "ic.h5 is damaged or cut off", "" },
        { map, "/map", NX, NY, "truncate -s 4 ic.h5", "not an HDF5 file", "" },
        { map, "/map", NX, NY, "rm ic.h5", "no such file", "" },
        { squeezed, "/map", NX, NY, ":", "/map needs HDF5's filter 333 (squeeze)", "HDF5_PLUGIN_PATH" },
        { shuffled, "/map", NX, NY, "truncate -s -900 ic.h5; truncate -s +900 ic.h5",
          "the values of dataset /map are damaged or cut off", "" },
        { raw, "/map", NX, NY, ":", others, "" },
        { raw, "/map", NX, NY, repack, NULL, "" },
        { view, "/map", NX, NY, ":", others, "" },
        { view, "/map", NX, NY, repack, NULL, "" },
        { link_to, "/map", NX, NY, ":", none, "" },
        { link_behind_a_link, "/map", NX, NY, ":", none, "" },
        { level_before_elsewhere, "/map", NX, NY, ":", "no dataset /fields/u_prev in itself", "" },
    };
    must(chdir(folder) == 0, folder); /* HDF5 writes raw.bin where it is */
    make_file(beside, map);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const bool prev = cases[i].make == both_levels;
        bool has_prev = !prev;
        make_file(path, cases[i].make);
        fixture_shell(folder, "%s", cases[i].then);
        why.text[0] = '\0';
        const state_status status =
            read_field(path, cases[i].dataset, DTYPE_F64, cases[i].nx, cases[i].ny, &has_prev);
        const bool damaged = cases[i].make == squeezed || cases[i].make == shuffled;
        const state_status due = !cases[i].part ? STATE_OK : damaged ? STATE_DAMAGED : STATE_MISSING;
        const bool said = due == STATE_OK || (strstr(why.text, "ic.h5") && strstr(why.text, cases[i].part) &&
                                              strstr(why.text, cases[i].more));
        if (status != due || !said) fail_msg("case %zu: status %d, %s", i, (int)status, why.text);
        if (due == STATE_OK) assert_int_equal(has_prev, prev);
    }
}

/* A state of weft, of parts, in the other type; a part that is lost is no zeros. */
static void a_state_of_parts(void **unused)
{
    state_level l = fixture_state(NX, NY, DTYPE_F32, 3);
    bool has_prev = true;
    value_at = of_state;
    fixture_write(&(state_writer_options){ .file = path, .writers = ranks }, &l);
    free(l.field[0].data);
    if (read_field(path, "/fields/u", DTYPE_F64, NX, NY, &has_prev) != STATE_OK) fail_msg("%s", why.text);
    assert_false(has_prev);
    assert_int_equal(read_field(folder, "/u", DTYPE_F64, NX, NY, NULL), STATE_MISSING);
    assert_non_null(strstr(why.text, "is a directory"));
    fixture_shell(folder, "rm -f ic.*/0.h5");
    if (ranks > 1) assert_int_equal(read_field(path, "/fields/u", DTYPE_F64, NX, NY, NULL), STATE_DAMAGED);
    if (ranks > 1) assert_non_null(strstr(why.text, "is not there"));
}

static int set_up(void **unused)
{
    snprintf(beside, sizeof beside, "%s/beside.h5", folder);
    return snprintf(path, sizeof path, "%s/ic.h5", folder) < 0;
}

STATE_TESTS(set_up, cmocka_unit_test(types_and_layouts), cmocka_unit_test(what_fits_and_what_does_not),
            cmocka_unit_test(a_state_of_parts))
