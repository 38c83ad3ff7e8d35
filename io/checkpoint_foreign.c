/* A field out of a file that another program wrote: any HDF5 number type and byte order, contiguous, chunked or
 * compressed. Each rank reads its own cells through HDF5's own conversion, alone, so that every filter works and no rank
 * waits for another; a child has read them once before, where a damaged index or filter could crash the library. What is wrong
 * with such a file is the user's to mend: MISSING, with the sentence; DAMAGED only where the data themselves cannot be read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "checkpoint_part.h"
#include "checkpoint_probe.h"

enum { LISTED_DEPTH = 4 };

/* ---- naming what is there ---- */

/* Appends the paths of the datasets below `group`, as far as they fit. */
static void list_below(hid_t group, const char *prefix, int depth, char list[CHECKPOINT_LISTED_BYTES])
{
    H5G_info_t info;
    if (H5Gget_info(group, &info) < 0) return;
    for (hsize_t i = 0; i < info.nlinks; i++) {
        char name[128], path[256];
        if (H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, sizeof name, H5P_DEFAULT) < 0) return;
        if (snprintf(path, sizeof path, "%s/%s", prefix, name) >= (int)sizeof path) continue;
        const hid_t object = H5Oopen(group, name, H5P_DEFAULT);
        if (object < 0) continue; /* a link to nowhere */
        const size_t used = strlen(list), room = CHECKPOINT_LISTED_BYTES - used;
        if (H5Iget_type(object) == H5I_DATASET) {
            if (snprintf(list + used, room, "%s%s", used ? ", " : "", path) >= (int)room) list[used] = '\0';
        } else if (H5Iget_type(object) == H5I_GROUP && depth < LISTED_DEPTH) {
            list_below(object, path, depth + 1, list);
        }
        H5Oclose(object);
    }
}

void checkpoint_list_datasets(hid_t file, char list[CHECKPOINT_LISTED_BYTES])
{
    list[0] = '\0';
    list_below(file, "", 0, list);
}

static const char *type_name(H5T_class_t class)
{
    switch (class) {
    case H5T_STRING: return "strings";
    case H5T_COMPOUND: return "compound values";
    case H5T_ENUM: return "enumerated values";
    case H5T_ARRAY:
    case H5T_VLEN: return "arrays";
    default: return "values that are no numbers";
    }
}

/* "(200, 100)" */
static void put_shape(char *out, size_t out_bytes, int dims, const hsize_t *shape)
{
    size_t used = (size_t)snprintf(out, out_bytes, "(");
    for (int i = 0; i < dims && used < out_bytes; i++)
        used += (size_t)snprintf(out + used, out_bytes - used, "%s%llu", i ? ", " : "", (unsigned long long)shape[i]);
    if (used < out_bytes) snprintf(out + used, out_bytes - used, ")");
}

/* ---- reading ---- */

/* Every part of the path, since H5Lexists wants the groups in front of the last name to be there. */
static bool path_exists(hid_t file, const char *path)
{
    char part[1024];
    if (snprintf(part, sizeof part, "%s", path) >= (int)sizeof part) return false;
    for (char *c = part + 1; *c; c++) {
        if (*c != '/') continue;
        *c = '\0';
        const bool there = H5Lexists(file, part, H5P_DEFAULT) > 0;
        *c = '/';
        if (!there) return false;
    }
    return H5Lexists(file, part, H5P_DEFAULT) > 0;
}

typedef struct wanted {
    const char *path, *dataset; /* of the file */
    dtype type;
    int64_t nx, ny;
    box own;
} wanted;

static checkpoint_status check_dataset(hid_t dataset, const wanted *q, char *why, size_t why_bytes)
{
    const hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    const H5T_class_t class = H5Tget_class(type);
    const int dims = H5Sget_simple_extent_ndims(space);
    hsize_t shape[H5S_MAX_RANK] = { 0 };
    checkpoint_status status = CHECKPOINT_OK;
    if (dims > 0) H5Sget_simple_extent_dims(space, shape, NULL);
    const bool flat = dims == 1 && q->ny == 1 && shape[0] == (hsize_t)q->nx;
    const bool full = dims == 2 && shape[0] == (hsize_t)q->ny && shape[1] == (hsize_t)q->nx;
    if (class != H5T_INTEGER && class != H5T_FLOAT) {
        status = checkpoint_fail(CHECKPOINT_MISSING, why, why_bytes,
                                 "%s: dataset %s holds %s, where integers or floats are needed", q->path, q->dataset,
                                 type_name(class));
    } else if (!flat && !full) {
        char is[256], needed[64];
        const hsize_t grid[2] = { (hsize_t)q->ny, (hsize_t)q->nx };
        put_shape(is, sizeof is, dims < 0 ? 0 : dims, shape);
        put_shape(needed, sizeof needed, q->ny == 1 ? 1 : 2, q->ny == 1 ? grid + 1 : grid);
        status = checkpoint_fail(CHECKPOINT_MISSING, why, why_bytes, "%s: dataset %s has shape %s and the grid needs %s, %s",
                                 q->path, q->dataset, is, needed, q->ny == 1 ? "(grid.nx)" : "(grid.ny, grid.nx)");
    }
    H5Sclose(space);
    H5Tclose(type);
    return status;
}

static checkpoint_status read_dataset(hid_t file, const wanted *q, void *data, char *why, size_t why_bytes)
{
    hid_t dataset = H5I_INVALID_HID;
    if (!path_exists(file, q->dataset) || (dataset = H5Dopen2(file, q->dataset, H5P_DEFAULT)) < 0) {
        char list[CHECKPOINT_LISTED_BYTES];
        checkpoint_list_datasets(file, list);
        return checkpoint_fail(CHECKPOINT_MISSING, why, why_bytes, "%s has no dataset %s (it has %s)", q->path, q->dataset,
                               *list ? list : "none");
    }
    checkpoint_status status = check_dataset(dataset, q, why, why_bytes);
    const hsize_t cells = (hsize_t)box_cells(q->own);
    if (status == CHECKPOINT_OK && cells) {
        const hid_t space = H5Dget_space(dataset), memory = H5Screate_simple(1, &cells, NULL);
        if (!checkpoint_h5_select(space, q->own)
            || H5Dread(dataset, checkpoint_h5_memory_type(q->type), memory, space, H5P_DEFAULT, data) < 0)
            status = checkpoint_fail(CHECKPOINT_DAMAGED, why, why_bytes, "cannot read dataset %s of %s: %s", q->dataset,
                                     q->path, checkpoint_h5_reason());
        H5Sclose(memory);
        H5Sclose(space);
    }
    H5Dclose(dataset);
    return status;
}

checkpoint_status checkpoint_read_foreign(MPI_Comm comm, const char *path, const char *dataset, dtype type, int64_t nx,
                                          int64_t ny, box own, void *data, void *prev, bool *has_prev, char *why,
                                          size_t why_bytes)
{
    wanted q = { path, dataset ? dataset : "/fields/u", type, nx, ny, own };
    hid_t file;
    bool found_prev = false;
    checkpoint_status status = checkpoint_probe(comm, path, q.dataset, nx * ny, why, why_bytes);
    if (status == CHECKPOINT_OK && prev) status = checkpoint_probe(comm, path, "/fields/u_prev", nx * ny, why, why_bytes);
    if (status != CHECKPOINT_OK) return status;
    status = checkpoint_h5_open(path, &file, why, why_bytes);
    if (status == CHECKPOINT_OK) {
        status = read_dataset(file, &q, data, why, why_bytes);
        q.dataset = "/fields/u_prev";
        found_prev = prev && status == CHECKPOINT_OK && path_exists(file, q.dataset);
        if (found_prev) status = read_dataset(file, &q, prev, why, why_bytes);
        H5Fclose(file);
    } else if (status == CHECKPOINT_DAMAGED) {
        status = CHECKPOINT_MISSING; /* "no HDF5 file": a wrong input, not a checkpoint gone bad */
    }
    if (has_prev) *has_prev = found_prev;
    return checkpoint_agree(comm, status, why, why_bytes);
}
