/* Datasets whose values lie in other files: behind external links, in external storage, in the sources of virtual datasets. HDF5
 * reads what is missing there as zeros, and finds files by name anywhere, in the working directory too. In a state file all lies in
 * the file itself. For problem.initial the other files have to lie beside the file that names them, be there, and hold what it
 * takes from them. */
#include "state/checkpoint_elsewhere.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "files/replace.h"
#include "state/checkpoint_dataset.h"
#include "state/checkpoint_directory.h"
#include "state/checkpoint_h5.h"

enum { NAME_BYTES = 512 };

/* A regular file of at least `bytes` in the folder of the file `of`; out: its path. */
static bool lies_beside(const char *of, const char *name, uint64_t bytes, char out[CHECKPOINT_PATH_BYTES], sentence *why)
{
    char folder[CHECKPOINT_PATH_BYTES];
    struct stat info;
    replace_directory_of(folder, sizeof folder, of);
    if (strchr(name, '/')) return sentence_refuse(why, "has values in %.200s, but only files in its own folder are read", name);
    if (snprintf(out, CHECKPOINT_PATH_BYTES, "%s/%s", folder, name) >= CHECKPOINT_PATH_BYTES || stat(out, &info) != 0
        || !S_ISREG(info.st_mode))
        return sentence_refuse(why, "has values in %.200s, but there is no such file in its folder", name);
    if ((uint64_t)info.st_size < bytes) return sentence_refuse(why, "has values in %.200s, which is too short for them", name);
    return true;
}

/* Of HDF5: before it follows an external link. Negative: it does not. */
static herr_t on_external_link(const char *parent, const char *group, const char *name, const char *object, unsigned *flags,
                               hid_t access, void *why)
{
    char path[CHECKPOINT_PATH_BYTES];
    return lies_beside(parent, name, 0, path, why) ? 0 : -1;
}

hid_t checkpoint_elsewhere_access(sentence *why)
{
    const hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    why->text[0] = '\0';
    H5Pset_elink_cb(access, on_external_link, why);
    H5Pset_efile_prefix(access, "${ORIGIN}"); /* else HDF5 looks in the working directory */
    return access;
}

static uint64_t dataset_bytes(hid_t dataset)
{
    CHECKPOINT_H5_SCOPED const hid_t space = H5Dget_space(dataset), type = H5Dget_type(dataset);
    const hssize_t cells = H5Sget_simple_extent_npoints(space);
    return cells > 0 ? (uint64_t)cells * H5Tget_size(type) : 0;
}

/* External storage: pieces of files, one after another. */
static bool pieces_are_there(hid_t dataset, hid_t how, const char *of, sentence *why)
{
    uint64_t left = dataset_bytes(dataset);
    const int pieces = H5Pget_external_count(how);
    for (int i = 0; i < pieces && left > 0; i++) {
        char name[NAME_BYTES] = "", path[CHECKPOINT_PATH_BYTES];
        off_t at = 0;
        hsize_t bytes = 0;
        if (H5Pget_external(how, (unsigned)i, sizeof name - 1, name, &at, &bytes) < 0)
            return sentence_refuse(why, "has values in other files, whose names cannot be read");
        const uint64_t taken = bytes < left ? bytes : left;
        if (!lies_beside(of, name, (uint64_t)at + taken, path, why)) return false;
        left -= taken;
    }
    return left == 0 || sentence_refuse(why, "has values in other files, which are too short for them");
}

/* Is what the selection `wanted` reaches to within the dataset, and not elsewhere once more? */
static bool holds(hid_t source, hid_t wanted)
{
    hsize_t shape[H5S_MAX_RANK], first[H5S_MAX_RANK], last[H5S_MAX_RANK];
    CHECKPOINT_H5_SCOPED const hid_t space = H5Dget_space(source);
    const int dims = H5Sget_simple_extent_dims(space, shape, NULL);
    bool ok = checkpoint_dataset_is_inside(source) && dims == H5Sget_simple_extent_ndims(wanted);
    if (ok && H5Sget_select_type(wanted) != H5S_SEL_ALL) ok = H5Sget_select_bounds(wanted, first, last) >= 0;
    for (int i = 0; i < dims && ok && H5Sget_select_type(wanted) != H5S_SEL_ALL; i++) ok = last[i] < shape[i];
    return ok;
}

static bool source_holds(const char *path, const char *dataset, hid_t wanted)
{
    sentence unused;
    CHECKPOINT_H5_SCOPED hid_t file = H5I_INVALID_HID;
    if (checkpoint_h5_open(path, &file, &unused) != CHECKPOINT_OK) return false;
    CHECKPOINT_H5_SCOPED const hid_t access = checkpoint_elsewhere_access(&unused), source = H5Dopen2(file, dataset, access);
    return source >= 0 && holds(source, wanted);
}

/* One of a virtual dataset's sources. *cells: those that it gives. */
static bool source_is_there(hid_t how, size_t i, const char *of, hssize_t *cells, sentence *why)
{
    char name[NAME_BYTES] = "", dataset[NAME_BYTES] = "", path[CHECKPOINT_PATH_BYTES];
    CHECKPOINT_H5_SCOPED const hid_t wanted = H5Pget_virtual_srcspace(how, i), given = H5Pget_virtual_vspace(how, i);
    bool ok = H5Pget_virtual_filename(how, i, name, sizeof name) > 0
              && H5Pget_virtual_dsetname(how, i, dataset, sizeof dataset) > 0;
    const bool same_file = strcmp(name, ".") == 0;
    *cells = H5Sget_select_npoints(given);
    if (!ok) sentence_set(why, "has values in other files, whose names cannot be read");
    else if (!same_file) ok = lies_beside(of, name, 0, path, why);
    if (ok && !source_holds(same_file ? of : path, dataset, wanted))
        ok = sentence_refuse(why, "is virtual, but its source %.200s does not hold all the values it needs", same_file ? dataset : name);
    return ok;
}

static bool sources_are_there(hid_t dataset, hid_t how, const char *of, sentence *why)
{
    CHECKPOINT_H5_SCOPED const hid_t space = H5Dget_space(dataset);
    hssize_t left = H5Sget_simple_extent_npoints(space), cells = 0;
    size_t count = 0;
    bool ok = H5Pget_virtual_count(how, &count) >= 0;
    for (size_t i = 0; i < count && ok; i++) {
        ok = source_is_there(how, i, of, &cells, why);
        left -= cells;
    }
    return ok && (left <= 0 || sentence_refuse(why, "is virtual, but some of its values have no source"));
}

bool checkpoint_elsewhere_lies_beside(hid_t dataset, sentence *why)
{
    char of[CHECKPOINT_PATH_BYTES] = "";
    CHECKPOINT_H5_SCOPED const hid_t how = H5Dget_create_plist(dataset);
    if (H5Fget_name(dataset, of, sizeof of) <= 0) return false;
    if (H5Pget_external_count(how) > 0) return pieces_are_there(dataset, how, of, why);
    return H5Pget_layout(how) != H5D_VIRTUAL || sources_are_there(dataset, how, of, why);
}
