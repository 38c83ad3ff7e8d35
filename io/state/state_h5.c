#include "state/state_h5.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "state/state.h"

enum { ALIGNMENT_BYTES = 4096 }; /* of datasets: a page */

/* Once MPI runs, HDF5 would have MPI_Finalize end it. */
void state_before_mpi_init(void)
{
    H5dont_atexit();
    H5open();
}

void state_h5_quiet(void) { H5Eset_auto2(H5E_DEFAULT, NULL, NULL); }

static herr_t take_innermost(unsigned n, const H5E_error2_t *e, void *text)
{
    if (n == 0 && e->desc) sentence_set(text, "%s", e->desc);
    return n == 0 ? 1 : 0; /* 1 ends the walk */
}

const char *state_h5_reason(void)
{
    static sentence text;
    sentence_set(&text, "HDF5 gave no reason");
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_innermost, &text);
    for (char *c = text.text; *c; c++)
        if (*c == '\n') *c = ' ';
    return text.text;
}

/* The 1.8 format has checksums over everything but the raw data; virtual datasets came with 1.10. */
hid_t state_h5_access(void)
{
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    (void)setenv("HDF5_USE_FILE_LOCKING", "FALSE", 0); /* read whenever a file is opened */
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V110);
    H5Pset_alignment(access, ALIGNMENT_BYTES, ALIGNMENT_BYTES);
    return access;
}

state_status state_h5_open(const char *path, hid_t *file, sentence *why)
{
    state_h5_quiet();
    int fd;
    *file = H5I_INVALID_HID;
    const state_status status = state_file_open(path, &fd, why);
    if (status != STATE_OK) return status;
    close(fd);
    STATE_H5_SCOPED const hid_t access = state_h5_access();
    *file = H5Fopen(path, H5F_ACC_RDONLY, access);
    if (*file >= 0) return STATE_OK;
    return state_fail(STATE_DAMAGED, why,
                      H5Fis_hdf5(path) > 0 ? "%s is damaged or cut off" : "%s is not an HDF5 file", path);
}

hid_t state_h5_file_type(dtype t) { return t == DTYPE_F32 ? H5T_IEEE_F32LE : H5T_IEEE_F64LE; }

hid_t state_h5_create_group(hid_t root, const char *name)
{
    STATE_H5_SCOPED const hid_t how = H5Pcreate(H5P_GROUP_CREATE);
    H5Pset_obj_track_times(how, false);
    return H5Gcreate2(root, name, H5P_DEFAULT, how, H5P_DEFAULT);
}

bool state_h5_put(hid_t object, const char *name, hid_t file_type, hid_t memory_type, hsize_t count,
                  const void *values)
{
    STATE_H5_SCOPED const hid_t space = count ? H5Screate_simple(1, &count, NULL) : H5Screate(H5S_SCALAR);
    STATE_H5_SCOPED const hid_t attribute =
        H5Acreate2(object, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT);
    return attribute >= 0 && H5Awrite(attribute, memory_type, values) >= 0;
}

bool state_h5_put_text(hid_t object, const char *name, const char *text)
{
    STATE_H5_SCOPED const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, strlen(text) + 1);
    H5Tset_cset(type, H5T_CSET_UTF8);
    return state_h5_put(object, name, type, type, 0, text);
}

bool state_h5_put_integer(hid_t object, const char *name, int64_t number)
{
    return state_h5_put(object, name, H5T_STD_I64LE, H5T_NATIVE_INT64, 0, &number);
}

bool state_h5_get_integer(hid_t object, const char *name, int64_t *out)
{
    if (H5Aexists(object, name) <= 0) return false;
    STATE_H5_SCOPED const hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    return H5Aread(attribute, H5T_NATIVE_INT64, out) >= 0;
}

bool state_h5_get_text(hid_t object, const char *name, char *out, size_t out_bytes)
{
    memset(out, 0, out_bytes); /* other programs write no end mark */
    if (H5Aexists(object, name) <= 0) return false;
    STATE_H5_SCOPED const hid_t attribute = H5Aopen(object, name, H5P_DEFAULT), type = H5Aget_type(attribute);
    return !H5Tis_variable_str(type) && H5Tget_size(type) <= out_bytes &&
           H5Aread(attribute, type, out) >= 0 && out[out_bytes - 1] == '\0';
}
