/* /VTKHDF of a state file: the fields as VTK's own readers know them, an image with a value at each cell's centre. No data of its
 * own: its datasets are virtual, views of /fields, and nothing of weft reads them.
 *
 * Readers differ in what they take for a flat image. VTK 9.1 (Debian 12, Ubuntu 24.04) wants three axes and overruns its memory
 * where one has a single point; later ones take two axes, and then three no more. What all of them take has two points or more
 * along every axis: so an axis of one cell, z always, shows its cells twice, as a plate one cell thick. */
#include "state/checkpoint_vtkhdf.h"

#include <stdio.h>

#include "state/checkpoint_h5.h"
#include "state/checkpoint_info.h"

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
    const int64_t version[] = { 1, 0 }, extent[] = { 0, (int64_t)v->points[2] - 1, 0, (int64_t)v->points[1] - 1, 0, 1 };
    const double origin[] = { 0.5, 0.5, 0 }, spacing[] = { 1, 1, 1 }, direction[] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 };
    return put_type(group) && put_integers(group, "Version", 2, version) && put_integers(group, "WholeExtent", 6, extent)
           && put_numbers(group, "Origin", 3, origin) && put_numbers(group, "Spacing", 3, spacing)
           && put_numbers(group, "Direction", 9, direction);
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

static bool put_field(hid_t group, const checkpoint_field *f, dtype type)
{
    char path[64];
    const view v = view_of(f);
    const int skip = f->ny == 1 ? 2 : 1;
    CHECKPOINT_H5_SCOPED const hid_t layout = H5Pcreate(H5P_DATASET_CREATE);
    CHECKPOINT_H5_SCOPED const hid_t image = H5Screate_simple(AXES, v.points, NULL), cells = H5Screate_simple(AXES - skip, v.cells + skip, NULL);
    snprintf(path, sizeof path, "/fields/%s", f->name);
    H5Pset_obj_track_times(layout, false);
    if (!map_cells(layout, image, &v, cells, path)) return false;
    CHECKPOINT_H5_SCOPED const hid_t dataset =
        H5Dcreate2(group, f->name, checkpoint_h5_file_type(type), image, H5P_DEFAULT, layout, H5P_DEFAULT);
    return dataset >= 0;
}

bool checkpoint_vtkhdf_write(hid_t root, const checkpoint_state *s)
{
    const checkpoint_field *main_field = &s->field[checkpoint_main_field(s)];
    const view v = view_of(main_field);
    CHECKPOINT_H5_SCOPED const hid_t group = checkpoint_h5_create_group(root, "VTKHDF");
    if (group < 0) return false;
    CHECKPOINT_H5_SCOPED const hid_t points = checkpoint_h5_create_group(group, "PointData");
    bool ok = points >= 0 && put_image(group, &v);
    /* An image has one shape: of a transpose that is not square, b alone. */
    for (int i = 0; i < s->fields && ok; i++)
        if (s->field[i].nx == main_field->nx && s->field[i].ny == main_field->ny) ok = put_field(points, &s->field[i], s->type);
    return ok;
}
