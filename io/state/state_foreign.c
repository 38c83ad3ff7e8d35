/* A field out of a file of another program: any HDF5 number type and byte order, contiguous, chunked or
 * compressed. Each rank reads its own cells in one H5Dread, which converts them. An error in such a file is
 * the user's: MISSING; DAMAGED only where the data themselves cannot be read. HDF5 reads zeros for values in
 * other files that are missing: external links, external storage and virtual datasets are refused. States of
 * weft are read part by part instead (state_read). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/cell.h"
#include "core/fp.h"
#include "ranks/check.h"
#include "state/state_index.h"

/* "FILE: dataset NAME " and what is wrong with it. */
#define MISFIT(q, why, format, ...) \
    sentence_fail(STATE_MISSING, why, "%s: dataset %s " format, (q)->path, (q)->dataset, __VA_ARGS__)

static herr_t refuse_link(const char *parent, const char *group, const char *name, const char *object,
                          unsigned *flags, hid_t access, void *unused)
{
    return -1;
}

static state_status check_shape(int dims, const hsize_t *shape, const state_foreign *q, sentence *why)
{
    char is[256] = "";
    const bool flat = dims == 1 && q->ny == 1 && shape[0] == (hsize_t)q->nx;
    const bool full = dims == 2 && shape[0] == (hsize_t)q->ny && shape[1] == (hsize_t)q->nx;
    if (flat || full) return STATE_OK;
    for (int i = 0; i < dims && i < 8; i++)
        snprintf(is + strlen(is), sizeof is - strlen(is), "%s%llu", i ? ", " : "",
                 (unsigned long long)shape[i]);
    if (q->ny == 1)
        return MISFIT(q, why, "has shape (%s); the grid needs (grid.nx) = (%lld)", is, (long long)q->nx);
    return MISFIT(q, why, "has shape (%s); the grid needs (grid.ny, grid.nx) = (%lld, %lld)", is,
                  (long long)q->ny, (long long)q->nx);
}

/* Why H5Dread failed, where the disk did not. */
static state_status read_failed(const state_foreign *q, hid_t how, sentence *why)
{
    for (int i = 0; i < H5Pget_nfilters(how); i++) {
        char name[64] = "";
        size_t values = 0;
        const H5Z_filter_t id =
            H5Pget_filter2(how, (unsigned)i, NULL, &values, NULL, sizeof name - 1, name, NULL);
        if (H5Zfilter_avail(id) <= 0)
            return sentence_fail(STATE_DAMAGED, why,
                                 "%s: dataset %s needs HDF5's filter %d (%s), which is not here: name its "
                                 "folder in HDF5_PLUGIN_PATH, or h5repack -f NONE where it is",
                                 q->path, q->dataset, (int)id, name);
    }
    return sentence_fail(STATE_DAMAGED, why, "%s: the values of dataset %s are damaged or cut off", q->path,
                         q->dataset);
}

static state_status read_dataset(hid_t file, hid_t access, const state_foreign *q, void *data, sentence *why)
{
    STATE_H5_SCOPED const hid_t set = H5Dopen2(file, q->dataset, access);
    if (set < 0)
        return sentence_fail(STATE_MISSING, why,
                             "%s has no dataset %s in itself: h5ls -r %s lists those that it has", q->path,
                             q->dataset, q->path);
    STATE_H5_SCOPED const hid_t type = H5Dget_type(set), how = H5Dget_create_plist(set),
                                space = H5Dget_space(set);
    const H5T_class_t class = H5Tget_class(type);
    hsize_t shape[H5S_MAX_RANK] = { 0 };
    const int dims = H5Sget_simple_extent_dims(space, shape, NULL);
    if (H5Pget_layout(how) == H5D_VIRTUAL || H5Pget_external_count(how) > 0)
        return MISFIT(q, why, "has values in other files: h5repack -l CONTI %s NEW.h5 copies them into one",
                      q->path);
    if (class != H5T_INTEGER && class != H5T_FLOAT)
        return MISFIT(q, why, "holds no %s", "integers or floats");
    const state_status status = check_shape(dims, shape, q, why);
    if (status != STATE_OK || box_empty(q->own)) return status;

    const hsize_t start[2] = { (hsize_t)q->own.y0, (hsize_t)q->own.x0 },
                  count[2] = { (hsize_t)box_height(q->own), (hsize_t)box_width(q->own) };
    STATE_H5_SCOPED const hid_t memory = H5Screate_simple(2, count, NULL);
    /* rounded to f32 here: a filter may change the rounding mode in the middle of H5Dread */
    const int64_t cells = box_cells(q->own);
    double *const wide = q->type == DTYPE_F32 ? CHECK_CALLOC(cells, sizeof *wide) : data;
    const bool ok =
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start + 2 - dims, NULL, count + 2 - dims, NULL) >= 0 &&
        H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, wide) >= 0;
    fp_default();
    for (int64_t k = 0; k < cells && wide != data; k++) ((float *)data)[k] = (float)wide[k];
    if (wide != data) free(wide);
    return ok ? STATE_OK : read_failed(q, how, why);
}

/* prev: NULL, or of /fields/u_prev, which need not be there. */
static state_status read_file(const state_foreign *u, const state_foreign *u_prev, void *data, void *prev,
                              bool *has_prev, sentence *why)
{
    int fd;
    state_status status = state_file_open(u->path, &fd, why);
    if (status != STATE_OK) return status == STATE_DAMAGED ? STATE_MISSING : status; /* a wrong input */
    STATE_H5_SCOPED const hid_t file = H5Fopen(u->path, H5F_ACC_RDONLY, H5P_DEFAULT),
                                access = H5Pcreate(H5P_DATASET_ACCESS);
    const bool locked = file < 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(fd);
    if (locked) return state_file_failed("read", u->path, EWOULDBLOCK, why); /* HDF5 1.14 does not say so */
    if (file < 0)
        return sentence_fail(STATE_MISSING, why,
                             H5Fis_hdf5(u->path) > 0 ? "%s is damaged or cut off" : "%s is not an HDF5 file",
                             u->path);
    H5Pset_elink_cb(access, refuse_link, NULL);
    status = read_dataset(file, access, u, data, why);
    if (status != STATE_OK || !prev) return status;
    /* an error counts as there: one that cannot be read is not to be taken for none */
    *has_prev = H5Lexists(file, "/fields", access) > 0 && H5Lexists(file, "/fields/u_prev", access) != 0;
    return *has_prev ? read_dataset(file, access, u_prev, prev, why) : STATE_OK;
}

/* ---- a whole state of weft ---- */

/* The field of a dataset /fields/NAME; -1: none. */
static int field_of(const state_info *s, const char *dataset)
{
    for (int i = 0; i < s->fields; i++)
        if (strncmp(dataset, "/fields/", 8) == 0 && strcmp(dataset + 8, s->field[i].name) == 0) return i;
    return -1;
}

static state_status read_state(const state_info *s, const state_foreign *q, void *data, sentence *why)
{
    const int i = field_of(s, q->dataset);
    const int64_t cells = box_cells(q->own);
    const hsize_t shape[2] = { (hsize_t)s->field[i].ny, (hsize_t)s->field[i].nx };
    state_status status = check_shape(2, shape, q, why);
    if (status != STATE_OK) return status;
    if (s->type == q->type) return state_read(s, i, q->own, data, why);
    void *const other = CHECK_CALLOC(cells, dtype_bytes(s->type));
    status = state_read(s, i, q->own, other, why);
    fp_default();
    for (int64_t k = 0; k < cells && status == STATE_OK; k++)
        cell_set(q->type, data, k, cell_get(s->type, other, k));
    free(other);
    return status;
}

state_status state_read_foreign(MPI_Comm comm, const state_foreign *u, void *data, void *prev, bool *has_prev,
                                sentence *why)
{
    const state_foreign u_prev = { u->path, "/fields/u_prev", u->type, u->nx, u->ny, u->own };
    state_info own;
    bool found = false;
    const bool is_state = state_open(comm, u->path, &own, why) == STATE_OK && field_of(&own, u->dataset) >= 0;
    errno = 0;
    state_status status = is_state ? read_state(&own, u, data, why)
                                   : read_file(u, &u_prev, data, prev, &found, why);
    /* HDF5 passes an error of the disk on like damage, or like what is not there */
    if (!is_state && status != STATE_OK && (errno == EIO || errno == ESTALE))
        status = state_file_failed("read", u->path, errno, why);
    if (is_state && prev && status == STATE_OK) {
        found = field_of(&own, u_prev.dataset) >= 0;
        if (found) status = read_state(&own, &u_prev, prev, why);
    }
    state_close(&own);
    if (has_prev) *has_prev = found;
    return state_agree(comm, status, why);
}
