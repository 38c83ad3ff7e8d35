/* A field out of a file that another program wrote: any HDF5 number type and byte order, contiguous, chunked or
 * compressed. Each rank reads its own cells through HDF5's own conversion, alone, so that every filter works and no rank
 * waits for another; a child has read them once before, where a damaged index or filter could crash the library. What is wrong
 * with such a file is the user's to mend: MISSING, with the sentence; DAMAGED only where the data themselves cannot be read. */
#include "state/checkpoint_foreign.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "state/checkpoint.h"
#include "state/checkpoint_elsewhere.h"
#include "state/checkpoint_h5.h"
#include "state/checkpoint_probe.h"

/* ---- naming what is there ---- */

/* A sentence has room for a few datasets: neither a file of very many objects nor one whose links go round is walked to its end. */
enum { LISTED_DEPTH = 4, LISTED_OBJECTS_MAX = 1000 };

typedef struct listing {
    char *list, path[CHECKPOINT_LISTED_BYTES]; /* path: of the group it is in; "" is the root */
    int objects, depth;
} listing;

/* False: there is no room for it. */
static bool append_path(const listing *l)
{
    const size_t used = strlen(l->list), room = CHECKPOINT_LISTED_BYTES - used;
    const bool fits = snprintf(l->list + used, room, "%s%s", used ? ", " : "", l->path) < (int)room;
    if (!fits) l->list[used] = '\0';
    return fits;
}

/* Of H5Literate: 1 ends the walk. Links other than hard ones lead to other names, or elsewhere. */
static herr_t list_link(hid_t group, const char *name, const H5L_info_t *link, void *arg)
{
    listing *l = arg;
    herr_t end = 0;
    const size_t length = strlen(l->path);
    if (l->objects++ == LISTED_OBJECTS_MAX) return 1;
    CHECKPOINT_H5_SCOPED const hid_t object = link->type == H5L_TYPE_HARD ? H5Oopen(group, name, H5P_DEFAULT) : H5I_INVALID_HID;
    if (object < 0) return 0;
    if (snprintf(l->path + length, sizeof l->path - length, "/%s", name) < (int)(sizeof l->path - length)) {
        l->depth++;
        if (H5Iget_type(object) == H5I_DATASET) end = append_path(l) ? 0 : 1;
        else if (H5Iget_type(object) == H5I_GROUP && l->depth <= LISTED_DEPTH)
            end = H5Literate(object, H5_INDEX_NAME, H5_ITER_INC, NULL, list_link, l);
        l->depth--;
    }
    l->path[length] = '\0';
    return end > 0 ? 1 : 0; /* a group that cannot be read has nothing to list */
}

void checkpoint_foreign_list_datasets(hid_t file, char list[CHECKPOINT_LISTED_BYTES])
{
    listing l = { .list = list };
    list[0] = '\0';
    (void)H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, NULL, list_link, &l);
}

static const char *type_name(H5T_class_t class)
{
    switch (class) {
    case H5T_STRING: return "strings";
    case H5T_COMPOUND: return "compound values";
    case H5T_ENUM: return "enumerated values";
    case H5T_ARRAY:
    case H5T_VLEN: return "arrays";
    default: return "values that are not numbers";
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
static bool path_exists(hid_t file, const char *path, hid_t access)
{
    char part[1024];
    if (snprintf(part, sizeof part, "%s", path) >= (int)sizeof part) return false;
    for (char *c = part + 1; *c; c++) {
        if (*c != '/') continue;
        *c = '\0';
        const bool there = H5Lexists(file, part, access) > 0;
        *c = '/';
        if (!there) return false;
    }
    return H5Lexists(file, part, access) > 0;
}

/* Wherever it leads: a level that cannot be read is not to be taken for none. */
static bool has_link(hid_t file, const char *path)
{
    sentence elsewhere;
    CHECKPOINT_H5_SCOPED const hid_t access = checkpoint_elsewhere_access(&elsewhere);
    return path_exists(file, path, access) || elsewhere.text[0];
}

/* "FILE: dataset /NAME " and what it has. */
__attribute__((format(printf, 3, 4)))
static checkpoint_status misfit(const checkpoint_foreign *q, sentence *why, const char *format, ...)
{
    sentence what;
    va_list args;
    va_start(args, format);
    sentence_set_list(&what, format, args);
    va_end(args);
    return checkpoint_fail(CHECKPOINT_MISSING, why, "%s: dataset %s %s", q->path, q->dataset, what.text);
}

static checkpoint_status check_type(hid_t dataset, const checkpoint_foreign *q, sentence *why)
{
    CHECKPOINT_H5_SCOPED const hid_t type = H5Dget_type(dataset);
    const H5T_class_t class = H5Tget_class(type);
    const size_t bytes = H5Tget_size(type);
    if (class != H5T_INTEGER && class != H5T_FLOAT)
        return misfit(q, why, "holds %s; allowed are integers or floats", type_name(class));
    if (bytes > CHECKPOINT_NUMBER_BYTES_MAX)
        return misfit(q, why, "holds numbers of %zu bytes; at most %d are allowed", bytes, CHECKPOINT_NUMBER_BYTES_MAX);
    return CHECKPOINT_OK;
}

static checkpoint_status check_shape(hid_t dataset, const checkpoint_foreign *q, sentence *why)
{
    CHECKPOINT_H5_SCOPED const hid_t space = H5Dget_space(dataset);
    const int dims = H5Sget_simple_extent_ndims(space);
    hsize_t shape[H5S_MAX_RANK] = { 0 };
    if (dims > 0) H5Sget_simple_extent_dims(space, shape, NULL);
    const bool flat = dims == 1 && q->ny == 1 && shape[0] == (hsize_t)q->nx;
    const bool full = dims == 2 && shape[0] == (hsize_t)q->ny && shape[1] == (hsize_t)q->nx;
    if (flat || full) return CHECKPOINT_OK;
    char is[256], needed[64];
    const hsize_t grid[2] = { (hsize_t)q->ny, (hsize_t)q->nx };
    put_shape(is, sizeof is, dims < 0 ? 0 : dims, shape);
    put_shape(needed, sizeof needed, q->ny == 1 ? 1 : 2, q->ny == 1 ? grid + 1 : grid);
    return misfit(q, why, "has shape %s; the grid needs %s = %s", is, q->ny == 1 ? "(grid.nx)" : "(grid.ny, grid.nx)", needed);
}

static checkpoint_status read_own(hid_t dataset, const checkpoint_foreign *q, void *data, sentence *why)
{
    const char *const reason = checkpoint_h5_read(dataset, q->own, q->type, data);
    if (!reason) return CHECKPOINT_OK;
    return checkpoint_fail(CHECKPOINT_DAMAGED, why, "cannot read dataset %s of %s: %s", q->dataset, q->path, reason);
}

/* *dataset where there is one; OK where its values are where they may be. */
static checkpoint_status open_dataset(hid_t file, const checkpoint_foreign *q, hid_t *dataset, sentence *why)
{
    sentence elsewhere;
    char list[CHECKPOINT_LISTED_BYTES];
    CHECKPOINT_H5_SCOPED const hid_t access = checkpoint_elsewhere_access(&elsewhere);
    *dataset = path_exists(file, q->dataset, access) ? H5Dopen2(file, q->dataset, access) : H5I_INVALID_HID;
    if (*dataset >= 0 && checkpoint_elsewhere_lies_beside(*dataset, &elsewhere)) return CHECKPOINT_OK;
    if (elsewhere.text[0]) return misfit(q, why, "%s", elsewhere.text);
    checkpoint_foreign_list_datasets(file, list);
    return checkpoint_fail(CHECKPOINT_MISSING, why, "%s has no dataset %s (it has %s)", q->path, q->dataset, *list ? list : "none");
}

static checkpoint_status read_dataset(hid_t file, const checkpoint_foreign *q, void *data, sentence *why)
{
    CHECKPOINT_H5_SCOPED hid_t dataset = H5I_INVALID_HID;
    checkpoint_status status = open_dataset(file, q, &dataset, why);
    if (status == CHECKPOINT_OK) status = check_type(dataset, q, why);
    if (status == CHECKPOINT_OK) status = check_shape(dataset, q, why);
    if (status == CHECKPOINT_OK && !checkpoint_h5_chunks_fit(dataset)) status = misfit(q, why, "has chunks larger than itself");
    return status == CHECKPOINT_OK ? read_own(dataset, q, data, why) : status;
}

/* By each rank for itself. *found_prev: there is an earlier level, and it was wanted. */
static checkpoint_status read_levels(const checkpoint_foreign *u, const checkpoint_foreign *u_prev, void *data, void *prev,
                                     bool *found_prev, sentence *why)
{
    CHECKPOINT_H5_SCOPED hid_t file = H5I_INVALID_HID;
    checkpoint_status status = checkpoint_h5_open(u->path, &file, why);
    if (status == CHECKPOINT_DAMAGED) return CHECKPOINT_MISSING; /* "no HDF5 file": a wrong input, not a checkpoint gone bad */
    if (status != CHECKPOINT_OK) return status;
    status = read_dataset(file, u, data, why);
    *found_prev = prev && status == CHECKPOINT_OK && has_link(file, u_prev->dataset);
    return *found_prev ? read_dataset(file, u_prev, prev, why) : status;
}

checkpoint_status checkpoint_read_foreign(MPI_Comm comm, const checkpoint_foreign *q, void *data, void *prev, bool *has_prev,
                                          sentence *why)
{
    checkpoint_foreign u = *q, u_prev = *q;
    bool found_prev = false;
    if (!u.dataset) u.dataset = "/fields/u";
    u_prev.dataset = "/fields/u_prev";
    checkpoint_status status = checkpoint_probe(comm, u.path, u.dataset, u.nx * u.ny, NULL, why);
    if (status == CHECKPOINT_OK && prev) status = checkpoint_probe(comm, u.path, u_prev.dataset, u.nx * u.ny, NULL, why);
    if (status == CHECKPOINT_OK) status = checkpoint_agree(comm, read_levels(&u, &u_prev, data, prev, &found_prev, why), why);
    if (has_prev) *has_prev = found_prev;
    return status;
}
