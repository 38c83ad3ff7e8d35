/* Everything in a file that HDF5 interprets, whoever reads it later: each object behind hard links, each of its attributes. State
 * files hold more than a restart asks for, and a reader of that part is not to be the first to find it damaged. By names, not by
 * H5Ovisit, whose failure does not say where. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint_part.h"

enum {
    ATTRIBUTE_BYTES_MAX = 64 << 10, /* HDF5's own limit on those that are not stored apart */
    DEPTH_MAX = 8, OBJECTS_MAX = 10000, /* links of a damaged file may go round */
    NAME_BYTES = 128, WALK_PATH_BYTES = DEPTH_MAX * (NAME_BYTES + 1) + 2,
};

typedef struct walk {
    char *why;
    size_t why_bytes;
    int objects;
    char path[WALK_PATH_BYTES]; /* of the object it is at; "" is the root */
} walk;

static bool unreadable(const walk *w, const char *attribute)
{
    snprintf(w->why, w->why_bytes, "%s%s%s cannot be read: %s", *w->path ? w->path : "/", *attribute ? ", attribute " : "", attribute,
             checkpoint_h5_reason());
    return false;
}

/* What has a variable length is not read: the file would say how much memory that takes. */
static bool attribute_reads(hid_t attribute)
{
    const hid_t type = H5Aget_type(attribute);
    const hsize_t bytes = H5Aget_storage_size(attribute);
    const bool varies = type < 0 || H5Tdetect_class(type, H5T_VLEN) != 0 || H5Tis_variable_str(type) != 0;
    bool ok = type >= 0;
    if (!varies && bytes > 0) {
        void *value = bytes <= ATTRIBUTE_BYTES_MAX ? malloc(bytes) : NULL;
        ok = value && H5Aread(attribute, type, value) >= 0;
        free(value);
    }
    if (type >= 0) H5Tclose(type);
    return ok;
}

static herr_t look_at_attribute(hid_t object, const char *name, const H5A_info_t *info, void *arg)
{
    (void)info;
    const hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    const bool ok = (attribute >= 0 && attribute_reads(attribute)) || unreadable(arg, name);
    if (attribute >= 0) H5Aclose(attribute);
    return ok ? 0 : -1;
}

/* Type, shape and layout, with the files and datasets that a virtual one refers to. */
static bool dataset_opens(hid_t dataset)
{
    const hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset), how = H5Dget_create_plist(dataset);
    const bool ok = type >= 0 && space >= 0 && how >= 0;
    if (how >= 0) H5Pclose(how);
    if (space >= 0) H5Sclose(space);
    if (type >= 0) H5Tclose(type);
    return ok;
}

static bool look_at(walk *w, hid_t object, int depth);

/* Of hard links: what others lead to is elsewhere, or nowhere. */
static bool look_below(walk *w, hid_t group, int depth)
{
    H5G_info_t all;
    H5L_info_t link;
    char name[NAME_BYTES];
    const size_t length = strlen(w->path);
    if (H5Gget_info(group, &all) < 0) return unreadable(w, "");
    bool ok = true;
    for (hsize_t i = 0; i < all.nlinks && ok && w->objects < OBJECTS_MAX; i++) {
        const ssize_t bytes = H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, sizeof name, H5P_DEFAULT);
        if (bytes < 0 || H5Lget_info(group, name, &link, H5P_DEFAULT) < 0) return unreadable(w, "");
        if (link.type != H5L_TYPE_HARD || bytes >= (ssize_t)sizeof name) continue;
        snprintf(w->path + length, sizeof w->path - length, "/%s", name);
        const hid_t object = H5Oopen(group, name, H5P_DEFAULT);
        ok = object >= 0 ? look_at(w, object, depth + 1) : unreadable(w, "");
        if (object >= 0) H5Oclose(object);
        w->path[length] = '\0';
    }
    return ok;
}

static bool look_at(walk *w, hid_t object, int depth)
{
    w->objects++;
    if (H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, NULL, look_at_attribute, w) < 0) return *w->why ? false : unreadable(w, "");
    const H5I_type_t type = H5Iget_type(object);
    if (type == H5I_DATASET) return dataset_opens(object) || unreadable(w, "");
    return type != H5I_GROUP || depth == DEPTH_MAX || look_below(w, object, depth);
}

bool checkpoint_walk(hid_t file, char *why, size_t why_bytes)
{
    walk w = { .why = why, .why_bytes = why_bytes };
    *why = '\0';
    const hid_t root = H5Gopen2(file, "/", H5P_DEFAULT);
    if (root < 0) return unreadable(&w, "");
    const bool ok = look_at(&w, root, 0);
    H5Gclose(root);
    return ok;
}
