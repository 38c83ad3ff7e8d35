#include "state/checkpoint_dataset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state/checkpoint_h5.h"

enum { NAME_BYTES = 512 };

static bool is_hard_link(hid_t file, const char *name)
{
    H5L_info_t link;
    return H5Lget_info(file, name, &link, H5P_DEFAULT) >= 0 && link.type == H5L_TYPE_HARD;
}

bool checkpoint_dataset_is_inside(hid_t dataset)
{
    CHECKPOINT_H5_SCOPED const hid_t how = H5Dget_create_plist(dataset);
    return H5Pget_layout(how) != H5D_VIRTUAL && H5Pget_external_count(how) == 0;
}

hid_t checkpoint_dataset_open_inside(hid_t file, const char *group, const char *name, const char **why)
{
    char path[NAME_BYTES];
    const char *const part[] = { group, path };
    snprintf(path, sizeof path, "%s/%s", group, name);
    for (int i = 0; i < 2; i++) {
        *why = "is not there";
        if (H5Lexists(file, part[i], H5P_DEFAULT) <= 0) return H5I_INVALID_HID;
        *why = "is a link, which is not allowed in a state file";
        if (!is_hard_link(file, part[i])) return H5I_INVALID_HID;
    }
    *why = "cannot be opened";
    const hid_t dataset = H5Dopen2(file, path, H5P_DEFAULT);
    if (dataset < 0 || checkpoint_dataset_is_inside(dataset)) return dataset;
    *why = "has its values in other places, which is not allowed in a state file";
    H5Dclose(dataset);
    return H5I_INVALID_HID;
}

bool checkpoint_parse_fingerprint(const char *text, uint64_t *fingerprint)
{
    if (!text || strlen(text) != CHECKPOINT_FINGERPRINT_DIGITS
        || strspn(text, "0123456789abcdef") != CHECKPOINT_FINGERPRINT_DIGITS)
        return false;
    *fingerprint = strtoull(text, NULL, 16);
    return true;
}

/* More than deflate packs into a byte (1032 of them). */
enum { PACKED_MAX = 4096 };

/* HDF5 reads as zeros what is not in the file, however much that is. */
static bool is_all_there(hid_t dataset, const checkpoint_field *f, dtype type)
{
    const uint64_t bytes = (uint64_t)f->nx * (uint64_t)f->ny * dtype_bytes(type);
    CHECKPOINT_H5_SCOPED const hid_t how = H5Dget_create_plist(dataset);
    /* repacked by other programs */
    if (H5Pget_layout(how) != H5D_CONTIGUOUS) return bytes / PACKED_MAX < H5Dget_storage_size(dataset);
    return H5Dget_storage_size(dataset) == bytes && H5Dget_offset(dataset) != HADDR_UNDEF;
}

checkpoint_status checkpoint_dataset_open(hid_t file, const char *path, const checkpoint_field *f, dtype type,
                                          hid_t *dataset, uint64_t *fingerprint, sentence *why)
{
    char name[64];
    const char *reason;
    snprintf(name, sizeof name, "/fields/%s", f->name);
    *dataset = checkpoint_dataset_open_inside(file, "/fields", f->name, &reason);
    if (*dataset < 0)
        return checkpoint_fail(CHECKPOINT_DAMAGED, why, "%s: dataset %s %s", path, name, reason);

    checkpoint_status status = CHECKPOINT_OK;
    CHECKPOINT_H5_SCOPED const hid_t space = H5Dget_space(*dataset), file_type = H5Dget_type(*dataset);
    hsize_t shape[2] = { 1, 1 };
    const int dims = H5Sget_simple_extent_ndims(space);
    const bool shaped = (dims == 1 || dims == 2) &&
                        H5Sget_simple_extent_dims(space, dims == 1 ? shape + 1 : shape, NULL) >= 0;
    if (!shaped || (dims == 1) != (f->ny == 1) || shape[0] != (hsize_t)f->ny || shape[1] != (hsize_t)f->nx)
        status = checkpoint_fail(
            CHECKPOINT_DAMAGED, why,
            "%s: %s has %d dimensions and %llu x %llu cells; needed are %lld x %lld (ny x nx)", path, name,
            dims, (unsigned long long)shape[0], (unsigned long long)shape[1], (long long)f->ny,
            (long long)f->nx);
    else if (H5Tequal(file_type, checkpoint_h5_file_type(type)) <= 0)
        status = checkpoint_fail(CHECKPOINT_DAMAGED, why, "%s: %s is not of type %s", path, name,
                                 dtype_name(type));
    else if (!checkpoint_h5_chunks_fit(*dataset))
        status = checkpoint_fail(CHECKPOINT_DAMAGED, why, "%s: %s has chunks larger than itself", path, name);
    else if (!is_all_there(*dataset, f, type))
        status =
            checkpoint_fail(CHECKPOINT_DAMAGED, why, "%s: %s has no data or only a part of it", path, name);
    else {
        char *text = checkpoint_h5_attribute_text(*dataset, "fingerprint", 64);
        if (!checkpoint_parse_fingerprint(text, fingerprint))
            status =
                checkpoint_fail(CHECKPOINT_DAMAGED, why, "%s: %s has no readable fingerprint", path, name);
        free(text);
    }
    if (status != CHECKPOINT_OK) {
        H5Dclose(*dataset);
        *dataset = H5I_INVALID_HID;
    }
    return status;
}
