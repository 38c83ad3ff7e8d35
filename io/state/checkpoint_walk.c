/* Everything in a file that HDF5 interprets, whoever reads it later: each object behind hard links, each of
 * its attributes. State files hold more than a restart asks for, and a reader of that part is not to be the
 * first to find it damaged. Group by group, not by H5Ovisit, whose failure does not say where. */
#include "state/checkpoint_walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state/checkpoint_h5.h"

enum {
    ATTRIBUTE_BYTES_MAX = 64 << 10, /* HDF5's own limit on those that are not stored apart */
    DEPTH_MAX = 8, OBJECTS_MAX = 10000, /* links of a damaged file may go round */
    NAME_BYTES_SHOWN = 127, WALK_PATH_BYTES = DEPTH_MAX * (NAME_BYTES_SHOWN + 1) + 1,
};

typedef struct walk {
    sentence *why; /* "" until something cannot be read */
    int objects, depth;
    char path[WALK_PATH_BYTES]; /* of the object it is at; "" is the root */
} walk;

static bool unreadable(const walk *w, const char *attribute)
{
    return sentence_refuse(w->why, "%s%s%s cannot be read: %s", *w->path ? w->path : "/",
                           *attribute ? ", attribute " : "", attribute, checkpoint_h5_reason());
}

/* HDF5's iterations fail by themselves, or because what they call had found something. */
static bool iterated(const walk *w, herr_t result)
{
    return result >= 0 || (w->why->text[0] ? false : unreadable(w, ""));
}

/* The file would say how much memory a value of variable length takes, so it is not read; nor is what holds
 * strings, which may be such values. */
static bool has_fixed_length(hid_t type)
{
    if (H5Tget_class(type) == H5T_STRING) return H5Tis_variable_str(type) == 0;
    return H5Tdetect_class(type, H5T_VLEN) == 0 && H5Tdetect_class(type, H5T_STRING) == 0;
}

static bool attribute_reads(hid_t attribute)
{
    CHECKPOINT_H5_SCOPED const hid_t type = H5Aget_type(attribute);
    if (type < 0) return false;
    const hsize_t bytes = H5Aget_storage_size(attribute);
    if (bytes == 0 || !has_fixed_length(type)) return true;
    void *value = bytes <= ATTRIBUTE_BYTES_MAX ? malloc(bytes) : NULL;
    const bool ok = value && H5Aread(attribute, type, value) >= 0;
    free(value);
    return ok;
}

static herr_t look_at_attribute(hid_t object, const char *name, const H5A_info_t *info, void *arg)
{
    CHECKPOINT_H5_SCOPED const hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    return (attribute >= 0 && attribute_reads(attribute)) || unreadable(arg, name) ? 0 : -1;
}

/* Type, shape and layout, with the files and datasets that a virtual one refers to. */
static bool dataset_opens(hid_t dataset)
{
    CHECKPOINT_H5_SCOPED const hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    CHECKPOINT_H5_SCOPED const hid_t how = H5Dget_create_plist(dataset);
    return type >= 0 && space >= 0 && how >= 0;
}

/* As those of /VTKHDF, whose views are of this file alone. */
static bool has_values_here(hid_t dataset)
{
    CHECKPOINT_H5_SCOPED const hid_t how = H5Dget_create_plist(dataset);
    size_t sources = 0;
    bool here = H5Pget_external_count(how) == 0;
    if (H5Pget_layout(how) == H5D_VIRTUAL) here = H5Pget_virtual_count(how, &sources) >= 0;
    for (size_t i = 0; i < sources && here; i++) {
        char name[8] = "";
        here = H5Pget_virtual_filename(how, i, name, sizeof name) == 1 && name[0] == '.';
    }
    return here;
}

static bool leads_elsewhere(const walk *w, const char *name, const char *how)
{
    return sentence_refuse(w->why, "%s%s%.*s %s, which is not allowed in a state file", w->path,
                           *name ? "/" : "", NAME_BYTES_SHOWN, name, how);
}

static bool look_at_dataset(const walk *w, hid_t dataset)
{
    if (!dataset_opens(dataset)) return unreadable(w, "");
    return has_values_here(dataset) || leads_elsewhere(w, "", "has values in other files");
}

static bool look_at(walk *w, hid_t object);

/* Soft links lead to other names in the file, or nowhere. */
static herr_t look_at_link(hid_t group, const char *name, const H5L_info_t *link, void *arg)
{
    walk *w = arg;
    const size_t length = strlen(w->path);
    if (link->type == H5L_TYPE_EXTERNAL) return leads_elsewhere(w, name, "leads to another file") ? 0 : -1;
    if (link->type != H5L_TYPE_HARD) return 0;
    if (w->objects == OBJECTS_MAX) return 1; /* ends the iteration */
    snprintf(w->path + length, sizeof w->path - length, "/%.*s", NAME_BYTES_SHOWN, name);
    w->depth++;
    CHECKPOINT_H5_SCOPED const hid_t object = H5Oopen(group, name, H5P_DEFAULT);
    const bool ok = object >= 0 ? look_at(w, object) : unreadable(w, "");
    w->depth--;
    w->path[length] = '\0';
    return ok ? 0 : -1;
}

static bool look_at(walk *w, hid_t object)
{
    w->objects++;
    if (!iterated(w, H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, NULL, look_at_attribute, w)))
        return false;
    const H5I_type_t type = H5Iget_type(object);
    if (type == H5I_DATASET) return look_at_dataset(w, object);
    if (type != H5I_GROUP || w->depth == DEPTH_MAX) return true;
    return iterated(w, H5Literate(object, H5_INDEX_NAME, H5_ITER_INC, NULL, look_at_link, w));
}

bool checkpoint_walk(hid_t file, sentence *why)
{
    walk w = { .why = why };
    why->text[0] = '\0';
    CHECKPOINT_H5_SCOPED const hid_t root = H5Gopen2(file, "/", H5P_DEFAULT);
    return root >= 0 ? look_at(&w, root) : unreadable(&w, "");
}
