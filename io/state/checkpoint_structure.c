/* A state file's structure: attributes, checksums, empty datasets and views of them, made by one rank with
 * POSIX calls. */
#include "state/checkpoint_structure.h"

#include <stdio.h>

#include "state/checkpoint_dataset.h"
#include "state/checkpoint_h5.h"
#include "state/checkpoint_info.h"

/* ---- views ---- */

/* /VTKHDF: the fields as VTK's own readers know them, an image with a value at each cell's centre. No data of
 * its own: its datasets are virtual, views of /fields, and nothing of weft reads them.
 *
 * Readers differ in what they take for a flat image. VTK 9.1 (Debian 12, Ubuntu 24.04) wants three axes and
 * overruns its memory where one has a single point; later ones take two axes, and then three no more. What
 * all of them take has two points or more along every axis: so an axis of one cell, z always, shows its cells
 * twice, as a plate one cell thick. */

enum { AXES = 3 }; /* z, y, x, as HDF5 counts them */

typedef struct view {
    hsize_t cells[AXES], points[AXES]; /* of a field; of the image */
} view;

static view view_of(const checkpoint_field *f)
{
    view v = { .cells = { 1, (hsize_t)f->ny, (hsize_t)f->nx } };
    for (int i = 0; i < AXES; i++) v.points[i] = v.cells[i] > 1 ? v.cells[i] : 2;
    return v;
}

static bool put_integers(hid_t group, const char *name, hsize_t count, const int64_t *values)
{
    return checkpoint_h5_put(group, name, H5T_STD_I64LE, H5T_NATIVE_INT64, count, values);
}

static bool put_numbers(hid_t group, const char *name, hsize_t count, const double *values)
{
    return checkpoint_h5_put(group, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, count, values);
}

/* Of a fixed length and without an end mark, as the format has it. */
static bool put_type(hid_t group)
{
    static const char text[] = "ImageData";
    CHECKPOINT_H5_SCOPED const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, sizeof text - 1);
    H5Tset_strpad(type, H5T_STR_NULLPAD);
    return checkpoint_h5_put(group, "Type", type, type, 0, text);
}

static bool put_image(hid_t group, const view *v)
{
    const int64_t version[] = { 1, 0 },
                  extent[] = { 0, (int64_t)v->points[2] - 1, 0, (int64_t)v->points[1] - 1, 0, 1 };
    const double origin[] = { 0.5, 0.5, 0 }, spacing[] = { 1, 1, 1 },
                 direction[] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 };
    return put_type(group) && put_integers(group, "Version", 2, version) &&
           put_integers(group, "WholeExtent", 6, extent) && put_numbers(group, "Origin", 3, origin) &&
           put_numbers(group, "Spacing", 3, spacing) && put_numbers(group, "Direction", 9, direction);
}

/* The cells of /fields/NAME once for each place that they have in the image. */
static bool map_cells(hid_t layout, hid_t image, const view *v, hid_t cells, const char *path)
{
    hsize_t at[AXES];
    for (at[0] = 0; at[0] < v->points[0]; at[0] += v->cells[0])
        for (at[1] = 0; at[1] < v->points[1]; at[1] += v->cells[1])
            for (at[2] = 0; at[2] < v->points[2]; at[2] += v->cells[2])
                if (H5Sselect_hyperslab(image, H5S_SELECT_SET, at, NULL, v->cells, NULL) < 0
                    || H5Pset_virtual(layout, image, ".", path, cells) < 0)
                    return false;
    return true;
}

static bool put_view(hid_t group, const checkpoint_field *f, dtype type)
{
    char path[64];
    const view v = view_of(f);
    const int skip = f->ny == 1 ? 2 : 1;
    CHECKPOINT_H5_SCOPED const hid_t layout = H5Pcreate(H5P_DATASET_CREATE);
    CHECKPOINT_H5_SCOPED const hid_t image = H5Screate_simple(AXES, v.points, NULL),
                                     cells = H5Screate_simple(AXES - skip, v.cells + skip, NULL);
    snprintf(path, sizeof path, "/fields/%s", f->name);
    H5Pset_obj_track_times(layout, false);
    if (!map_cells(layout, image, &v, cells, path)) return false;
    CHECKPOINT_H5_SCOPED const hid_t dataset =
        H5Dcreate2(group, f->name, checkpoint_h5_file_type(type), image, H5P_DEFAULT, layout, H5P_DEFAULT);
    return dataset >= 0;
}

static bool put_views(hid_t root, const checkpoint_state *s)
{
    const checkpoint_field *main_field = &s->field[checkpoint_main_field(s)];
    const view v = view_of(main_field);
    CHECKPOINT_H5_SCOPED const hid_t group = checkpoint_h5_create_group(root, "VTKHDF");
    if (group < 0) return false;
    CHECKPOINT_H5_SCOPED const hid_t points = checkpoint_h5_create_group(group, "PointData");
    bool ok = points >= 0 && put_image(group, &v);
    /* An image has one shape: of a transpose that is not square, b alone. */
    for (int i = 0; i < s->fields && ok; i++)
        if (s->field[i].nx == main_field->nx && s->field[i].ny == main_field->ny)
            ok = put_view(points, &s->field[i], s->type);
    return ok;
}

/* ---- the file ---- */

enum { DATA_ALIGNMENT_BYTES = 4096 }; /* a page: no two datasets share one */

static bool put_fingerprint(hid_t object, uint64_t fingerprint)
{
    char digits[CHECKPOINT_FINGERPRINT_DIGITS + 1];
    snprintf(digits, sizeof digits, "%016llx", (unsigned long long)fingerprint);
    return checkpoint_h5_put_text(object, "fingerprint", digits);
}

static hid_t create_dataset(hid_t group, const checkpoint_field *f, dtype type)
{
    const hsize_t shape[2] = { (hsize_t)f->ny, (hsize_t)f->nx };
    const int skip = f->ny == 1 ? 1 : 0;
    CHECKPOINT_H5_SCOPED const hid_t space = H5Screate_simple(2 - skip, shape + skip, NULL),
                                     layout = H5Pcreate(H5P_DATASET_CREATE);
    /* Every byte is written by its owner: HDF5 need not fill it first. */
    H5Pset_alloc_time(layout, H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(layout, H5D_FILL_TIME_NEVER);
    H5Pset_obj_track_times(layout, false);
    return H5Dcreate2(group, f->name, checkpoint_h5_file_type(type), space, H5P_DEFAULT, layout, H5P_DEFAULT);
}

static bool put_description_crc(hid_t root, const checkpoint_state *s)
{
    checkpoint_info info = { .type = s->type, .step = s->step, .nx = s->field[0].nx, .ny = s->field[0].ny,
                             .fingerprint = s->field[checkpoint_main_field(s)].fingerprint };
    snprintf(info.kind, sizeof info.kind, "%s", s->kind);
    return checkpoint_h5_put_integer(root, "description_crc32c",
                                     checkpoint_info_crc(&info, s->deck ? s->deck : ""));
}

static bool put_field(hid_t group, const checkpoint_state *s, int i, checkpoint_layout *layout)
{
    CHECKPOINT_H5_SCOPED const hid_t dataset = create_dataset(group, &s->field[i], s->type);
    if (dataset < 0 || !put_fingerprint(dataset, s->field[i].fingerprint)) return false;
    const haddr_t at = H5Dget_offset(dataset), end = at + (haddr_t)H5Dget_storage_size(dataset);
    layout->field_at_bytes[i] = at;
    if (end > layout->end_bytes) layout->end_bytes = end;
    return at != HADDR_UNDEF;
}

static bool put_fields(hid_t root, const checkpoint_state *s, checkpoint_layout *layout)
{
    CHECKPOINT_H5_SCOPED const hid_t group = checkpoint_h5_create_group(root, "fields");
    bool ok = group >= 0;
    for (int i = 0; i < s->fields && ok; i++) ok = put_field(group, s, i, layout);
    return ok;
}

static bool put_checksums(hid_t root, const checkpoint_state *s, const checkpoint_sums *sums,
                          checkpoint_layout *layout)
{
    CHECKPOINT_H5_SCOPED const hid_t group = checkpoint_h5_create_group(root, "checksums");
    bool ok = group >= 0;
    for (int i = 0; i < s->fields && ok; i++)
        ok = checkpoint_sums_write(group, &s->field[i], &sums[i], &layout->end_bytes);
    return ok;
}

/* What could not be written, NULL: nothing. */
static const char *describe(const checkpoint_state *s, const checkpoint_sums *sums, hid_t root,
                            checkpoint_layout *layout)
{
    if (!checkpoint_h5_put_integer(root, "schema_version", CHECKPOINT_SCHEMA_VERSION) ||
        !checkpoint_h5_put_text(root, "program", "weft") ||
        !checkpoint_h5_put_text(root, "version", s->version ? s->version : "unknown") ||
        !checkpoint_h5_put_text(root, "kind", s->kind) || !checkpoint_h5_put_integer(root, "step", s->step) ||
        !checkpoint_h5_put_text(root, "deck", s->deck ? s->deck : "") ||
        !put_fingerprint(root, s->field[checkpoint_main_field(s)].fingerprint) ||
        !put_description_crc(root, s))
        return "attributes";
    if (!put_fields(root, s, layout)) return "/fields";
    if (!put_checksums(root, s, sums, layout)) return "/checksums";
    return put_views(root, s) ? NULL : "/VTKHDF";
}

checkpoint_status checkpoint_structure_write(const char *path, const checkpoint_state *s,
                                             const checkpoint_sums *sums, checkpoint_layout *layout,
                                             sentence *why)
{
    CHECKPOINT_H5_SCOPED const hid_t access = H5Pcreate(H5P_FILE_ACCESS), how = H5Pcreate(H5P_FILE_CREATE);
    checkpoint_h5_without_locks(access); /* NAME.tmp has no other writer */
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    /* The 1.8 format has checksums over everything but the raw data, which fingerprints and block checksums
     * cover; what it lacks is virtual datasets, so that older libraries read all but /VTKHDF. */
    H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V110);
    H5Pset_alignment(access, DATA_ALIGNMENT_BYTES, DATA_ALIGNMENT_BYTES);
    H5Pset_obj_track_times(how, false);
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, how, access);
    *layout = (checkpoint_layout){ .end_bytes = 0 };
    const char *failed = file < 0 ? "H5Fcreate" : describe(s, sums, file, layout);
    checkpoint_status status = CHECKPOINT_OK;
    if (failed)
        status = checkpoint_fail(CHECKPOINT_IO, why, "cannot write %s: %s: %s", path, failed,
                                 checkpoint_h5_reason());
    if (file >= 0 && H5Fclose(file) < 0 && !failed)
        status = checkpoint_fail(CHECKPOINT_IO, why, "cannot write %s: %s: %s", path, "H5Fclose",
                                 checkpoint_h5_reason());
    return status;
}

uint64_t checkpoint_field_bytes(const checkpoint_state *s, int i)
{
    return (uint64_t)s->field[i].nx * (uint64_t)s->field[i].ny * dtype_bytes(s->type);
}
