/* HDF5 by one rank alone, in the main thread: the files of a state as other programs read them. */
#include "state/state_index.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ALIGNMENT_BYTES = 4096 }; /* of datasets: a page */

/* Once MPI runs, HDF5 would have MPI_Finalize end it. It prints no error stacks of its own. Files are opened
 * without locks, which parallel file systems often lack, unless the user asks for them. */
void state_before_mpi_init(void)
{
    (void)setenv("HDF5_USE_FILE_LOCKING", "FALSE", 0);
    H5dont_atexit();
    H5open();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

/* All that is open of a file goes with it. The 1.8 format has checksums over everything but the raw data;
 * virtual datasets came with 1.10. */
static hid_t file_access(void)
{
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V110);
    H5Pset_alignment(access, ALIGNMENT_BYTES, ALIGNMENT_BYTES);
    return access;
}

/* Files hold little-endian IEEE. */
static hid_t file_type(dtype t) { return t == DTYPE_F32 ? H5T_IEEE_F32LE : H5T_IEEE_F64LE; }

/* No times in it: a file depends on the state alone. */
static hid_t create_group(hid_t root, const char *name)
{
    STATE_H5_SCOPED const hid_t how = H5Pcreate(H5P_GROUP_CREATE);
    H5Pset_obj_track_times(how, false);
    return H5Gcreate2(root, name, H5P_DEFAULT, how, H5P_DEFAULT);
}

/* An attribute of `count` values, 0: a scalar; in the file as they are in memory. */
static bool put(hid_t object, const char *name, hid_t type, hsize_t count, const void *values)
{
    STATE_H5_SCOPED const hid_t space = count ? H5Screate_simple(1, &count, NULL) : H5Screate(H5S_SCALAR);
    STATE_H5_SCOPED const hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    return attribute >= 0 && H5Awrite(attribute, type, values) >= 0;
}

static bool put_text(hid_t object, const char *name, const char *text)
{
    STATE_H5_SCOPED const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, strlen(text) + 1);
    H5Tset_cset(type, H5T_CSET_UTF8);
    return put(object, name, type, 0, text);
}

static bool put_integer(hid_t object, const char *name, int64_t number)
{
    return put(object, name, H5T_STD_I64LE, 0, &number);
}

/* ---- parts ---- */

static hid_t new_file(const char *path)
{
    STATE_H5_SCOPED const hid_t access = file_access(), how = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_obj_track_times(how, false);
    return H5Fcreate(path, H5F_ACC_EXCL, how, access);
}

/* errno was 0 before: HDF5 keeps what the system said. */
static state_status h5_failed(const char *path, sentence *why)
{
    return sentence_fail(STATE_IO, why, "cannot write %s: %s", path,
                         errno ? strerror(errno) : "HDF5 refused");
}

/* The cells of one part. Every byte is written by its owner: HDF5 need not fill it first. */
static bool put_cells(hid_t group, state_info *s, int k, int i)
{
    const box b = s->part[k].of[i].cells;
    const hsize_t shape[2] = { (hsize_t)box_height(b), (hsize_t)box_width(b) };
    const int skip = s->field[i].ny == 1 ? 1 : 0;
    STATE_H5_SCOPED const hid_t space = H5Screate_simple(2 - skip, shape + skip, NULL),
                                layout = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_alloc_time(layout, H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(layout, H5D_FILL_TIME_NEVER);
    H5Pset_obj_track_times(layout, false);
    STATE_H5_SCOPED const hid_t set =
        H5Dcreate2(group, s->field[i].name, file_type(s->type), space, H5P_DEFAULT, layout, H5P_DEFAULT);
    s->part[k].of[i].at_bytes = set < 0 ? -1 : (int64_t)H5Dget_offset(set);
    return s->part[k].of[i].at_bytes != -1; /* HADDR_UNDEF too */
}

state_status state_part_create(state_info *s, int k, sentence *why)
{
    char path[STATE_PATH_BYTES];
    state_part_path(s, k, path);
    errno = 0;
    const hid_t file = new_file(path);
    if (file < 0) return h5_failed(path, why);
    const hid_t group = s->folder[0] ? file : create_group(file, "fields");
    bool ok = group >= 0;
    if (ok && s->folder[0]) ok = put_text(file, "state", s->folder) && put_integer(file, "part", k);
    for (int i = 0; i < s->fields && ok; i++)
        if (!box_empty(s->part[k].of[i].cells)) ok = put_cells(group, s, k, i);
    const state_status status = ok ? STATE_OK : h5_failed(path, why);
    if (group != file) state_h5_close(&group);
    return H5Fclose(file) < 0 && ok ? h5_failed(path, why) : status;
}

/* ---- views: virtual datasets over the parts ---- */

/* The fields as VTK's own readers know them are an image with a value at each cell's centre. Readers differ
 * in what they take for a flat image. VTK 9.1 (Debian 12, Ubuntu 24.04) wants three axes and overruns its
 * memory where one has a single point; later ones take two axes, and then three no more. What all of them
 * take has two points or more along every axis: so z shows the cells twice, as a plate one cell thick, and a
 * field of one row or column has no image. */
enum { AXES = 3, IMAGE_LAYERS = 2 }; /* z, y, x, as HDF5 counts them */

/* Part k as a view's source. HDF5 takes %b for the number of a block. */
static void name_source(char *out, const char *folder, int k)
{
    for (; *folder; *out++ = *folder++)
        if (*folder == '%') *out++ = '%';
    sprintf(out, "/%d.h5", k);
}

/* Part k of field i in layer z of a view with `dims` axes. */
static bool map_part(hid_t how, hid_t view, int dims, hsize_t z, const state_info *s, int k, int i)
{
    char file[2 * STATE_NAME_BYTES + 16] = ".", set[64];
    const box b = s->part[k].of[i].cells;
    const hsize_t at[AXES] = { z, (hsize_t)b.y0, (hsize_t)b.x0 },
                  count[AXES] = { 1, (hsize_t)box_height(b), (hsize_t)box_width(b) };
    const int of_set = s->field[i].ny == 1 ? 1 : 2, skip = AXES - dims;
    STATE_H5_SCOPED const hid_t source = H5Screate_simple(of_set, count + AXES - of_set, NULL);
    if (s->folder[0]) name_source(file, s->folder, k);
    snprintf(set, sizeof set, s->folder[0] ? "/%s" : "/fields/%s", s->field[i].name);
    return H5Sselect_hyperslab(view, H5S_SELECT_SET, at + skip, NULL, count + skip, NULL) >= 0 &&
           H5Pset_virtual(how, view, file, set, source) >= 0;
}

/* Field i, or with AXES dims the image of it, as a virtual dataset. Without a source cells are NaN, not
 * zeros. */
static hid_t create_view(hid_t group, const state_info *s, int i, int dims)
{
    static const double nan = NAN;
    const hsize_t layers = dims == AXES ? IMAGE_LAYERS : 1;
    const hsize_t shape[AXES] = { layers, (hsize_t)s->field[i].ny, (hsize_t)s->field[i].nx };
    STATE_H5_SCOPED const hid_t how = H5Pcreate(H5P_DATASET_CREATE),
                                view = H5Screate_simple(dims, shape + AXES - dims, NULL);
    H5Pset_obj_track_times(how, false);
    bool ok = H5Pset_fill_value(how, H5T_NATIVE_DOUBLE, &nan) >= 0;
    for (int k = 0; k < s->parts; k++)
        for (hsize_t z = 0; z < layers && ok && !box_empty(s->part[k].of[i].cells); z++)
            ok = map_part(how, view, dims, z, s, k, i);
    H5Sselect_all(view);
    if (!ok) return H5I_INVALID_HID;
    return H5Dcreate2(group, s->field[i].name, file_type(s->type), view, H5P_DEFAULT, how, H5P_DEFAULT);
}

static bool put_fingerprint(hid_t object, uint64_t fingerprint)
{
    char digits[17];
    snprintf(digits, sizeof digits, "%016" PRIx64, fingerprint);
    return put_text(object, "fingerprint", digits);
}

static bool put_fields(hid_t root, const state_info *s)
{
    STATE_H5_SCOPED const hid_t group =
        s->folder[0] ? create_group(root, "fields") : H5Gopen2(root, "fields", H5P_DEFAULT);
    bool ok = group >= 0;
    for (int i = 0; i < s->fields && ok; i++) {
        STATE_H5_SCOPED const hid_t set = s->folder[0] ? create_view(group, s, i, s->field[i].ny == 1 ? 1 : 2)
                                                       : H5Dopen2(group, s->field[i].name, H5P_DEFAULT);
        ok = set >= 0 && put_fingerprint(set, s->field[i].fingerprint);
    }
    return ok;
}

/* ---- /VTKHDF ---- */

static bool put_image(hid_t group, const state_field *f)
{
    static const char type_text[] = "ImageData"; /* of a fixed length and without an end mark */
    STATE_H5_SCOPED const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, sizeof type_text - 1);
    H5Tset_strpad(type, H5T_STR_NULLPAD);
    const int64_t version[] = { 1, 0 }, extent[] = { 0, f->nx - 1, 0, f->ny - 1, 0, IMAGE_LAYERS - 1 };
    const double origin[] = { 0.5, 0.5, 0 }, spacing[] = { 1, 1, 1 },
                 direction[] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 };
    return put(group, "Type", type, 0, type_text) && put(group, "Version", H5T_STD_I64LE, 2, version) &&
           put(group, "WholeExtent", H5T_STD_I64LE, 6, extent) &&
           put(group, "Origin", H5T_IEEE_F64LE, 3, origin) &&
           put(group, "Spacing", H5T_IEEE_F64LE, 3, spacing) &&
           put(group, "Direction", H5T_IEEE_F64LE, 9, direction);
}

/* An image has one shape: of a transpose that is not square, b alone. */
static bool put_vtk(hid_t root, const state_info *s)
{
    const state_field *f = &s->field[s->main_field];
    if (f->nx == 1 || f->ny == 1) return true;
    STATE_H5_SCOPED const hid_t group = create_group(root, "VTKHDF");
    STATE_H5_SCOPED const hid_t data = create_group(group, "PointData");
    bool ok = data >= 0 && put_image(group, f);
    for (int i = 0; i < s->fields && ok; i++) {
        if (s->field[i].nx != f->nx || s->field[i].ny != f->ny) continue;
        STATE_H5_SCOPED const hid_t set = create_view(data, s, i, AXES);
        ok = set >= 0;
    }
    return ok;
}

/* ---- an index ---- */

static bool describe(hid_t root, const state_info *s)
{
    return put_integer(root, "schema_version", STATE_SCHEMA_VERSION) && put_text(root, "program", "weft") &&
           put_text(root, "version", s->version) && put_text(root, "kind", s->kind) &&
           put_integer(root, "step", s->step) && put_text(root, "deck", s->deck) &&
           put_fingerprint(root, s->field[s->main_field].fingerprint) && put_fields(root, s) &&
           put_vtk(root, s);
}

state_status state_index_create(const char *path, const state_info *s, sentence *why)
{
    STATE_H5_SCOPED const hid_t access = file_access();
    errno = 0;
    const hid_t file = s->folder[0] ? new_file(path) : H5Fopen(path, H5F_ACC_RDWR, access);
    const bool ok = file >= 0 && describe(file, s);
    const state_status status = ok ? STATE_OK : h5_failed(path, why);
    return file >= 0 && H5Fclose(file) < 0 && ok ? h5_failed(path, why) : status;
}
