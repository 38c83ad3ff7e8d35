/* A field out of a file of another program: any HDF5 number type and byte order, contiguous, chunked or
 * compressed. Each rank reads its own cells in one H5Dread, as they lie in the file, and converts them: a
 * filter may change the floating-point environment meanwhile. An error in such a file is the user's: MISSING;
 * DAMAGED only where the data themselves cannot be read. HDF5 trusts its input: a damaged file may crash it,
 * which ends the run with the file named.
 *
 * HDF5 reads zeros for values in other files that are missing, and finds files by name anywhere: external
 * links, external storage and virtual datasets are refused. States of weft are read part by part instead
 * (state_read). */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/fp.h"
#include "ranks/check.h"
#include "ranks/ranks.h"
#include "state/state.h"
#include "state/state_h5.h"
#include "state/state_index.h"

/* HDF5 holds several numbers while it converts them: twice the largest that a compiler has. */
enum { NUMBER_BYTES_MAX = 32, LISTED_BYTES = 240, LISTED_OBJECTS_MAX = 1000 };

/* ---- finding the dataset ---- */

/* HDF5 calls it before it follows an external link, and then does not. */
static herr_t refuse_link(const char *parent, const char *group, const char *name, const char *object,
                          unsigned *flags, hid_t access, void *refused)
{
    *(bool *)refused = true;
    return -1;
}

/* H5Lexists wants the groups in front of the last name to be there. */
static bool path_exists(hid_t file, const char *path, hid_t access)
{
    char part[1024];
    bool there = snprintf(part, sizeof part, "%s", path) < (int)sizeof part;
    for (char *c = part + 1; *c && there; c++) {
        if (*c != '/') continue;
        *c = '\0';
        there = H5Lexists(file, part, access) > 0;
        *c = '/';
    }
    return there && H5Lexists(file, part, access) > 0;
}

typedef struct listing {
    char *list;
    int objects;
} listing;

/* H5Lvisit calls it, in which a group has one name however its links go round: 1 ends the walk. */
static herr_t list_link(hid_t file, const char *path, const H5L_info_t *link, void *arg)
{
    listing *l = arg;
    const size_t used = strlen(l->list), room = LISTED_BYTES - used;
    if (l->objects++ == LISTED_OBJECTS_MAX) return 1;
    STATE_H5_SCOPED const hid_t object =
        link->type == H5L_TYPE_HARD ? H5Oopen(file, path, H5P_DEFAULT) : H5I_INVALID_HID;
    if (object < 0 || H5Iget_type(object) != H5I_DATASET) return 0;
    if (snprintf(l->list + used, room, "%s/%s", used ? ", " : "", path) < (int)room) return 0;
    l->list[used] = '\0';
    return 1;
}

/* It has the first datasets of the file, as many as there is room for. */
static state_status no_dataset(hid_t file, const state_foreign *q, sentence *why)
{
    char list[LISTED_BYTES] = "";
    listing l = { .list = list };
    (void)H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, list_link, &l);
    return state_fail(STATE_MISSING, why, "%s has no dataset %s (it has %s)", q->path, q->dataset,
                      *list ? list : "none");
}

/* "FILE: dataset NAME " and what is wrong with it. */
#define MISFIT(q, why, format, ...) \
    state_fail(STATE_MISSING, why, "%s: dataset %s " format, (q)->path, (q)->dataset, __VA_ARGS__)

static state_status check_shape(hid_t dataset, const state_foreign *q, sentence *why)
{
    char is[256] = "";
    hsize_t shape[H5S_MAX_RANK] = { 0 };
    STATE_H5_SCOPED const hid_t space = H5Dget_space(dataset);
    const int dims = H5Sget_simple_extent_dims(space, shape, NULL);
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

static state_status check_dataset(hid_t dataset, const state_foreign *q, sentence *why)
{
    STATE_H5_SCOPED const hid_t type = H5Dget_type(dataset), how = H5Dget_create_plist(dataset);
    const H5T_class_t class = H5Tget_class(type);
    if (H5Pget_layout(how) == H5D_VIRTUAL || H5Pget_external_count(how) > 0)
        return MISFIT(q, why, "has values in other files: h5repack -l CONTI %s NEW.h5 copies them into one",
                      q->path);
    if ((class != H5T_INTEGER && class != H5T_FLOAT) || H5Tget_size(type) > NUMBER_BYTES_MAX)
        return MISFIT(q, why, "holds no integers or floats of at most %d bytes", NUMBER_BYTES_MAX);
    return check_shape(dataset, q, why);
}

/* ---- reading ---- */

static hid_t native(dtype t) { return t == DTYPE_F32 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE; }

/* From a buffer of that many cells, which has room for either type. */
static bool convert(void *buffer, hid_t from, const state_foreign *q, void *data)
{
    const size_t cells = (size_t)box_cells(q->own);
    (void)fp_default();
    if (H5Tconvert(from, native(q->type), cells, buffer, NULL, H5P_DEFAULT) < 0) return false;
    memcpy(data, buffer, cells * dtype_bytes(q->type));
    return true;
}

static state_status read_own(hid_t dataset, const state_foreign *q, void *data, sentence *why)
{
    const hsize_t cells = (hsize_t)box_cells(q->own), start[2] = { (hsize_t)q->own.y0, (hsize_t)q->own.x0 },
                  count[2] = { (hsize_t)box_height(q->own), (hsize_t)box_width(q->own) };
    STATE_H5_SCOPED const hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset),
                                memory = H5Screate_simple(1, &cells, NULL);
    const int skip = H5Sget_simple_extent_ndims(space) == 1 ? 1 : 0;
    if (cells == 0) return STATE_OK;
    const size_t word = H5Tget_size(type) > sizeof(double) ? H5Tget_size(type) : sizeof(double);
    void *const buffer = malloc(cells * word);
    if (!buffer) return state_fail(STATE_IO, why, "no memory to read %s", q->path);
    const bool ok = H5Sselect_hyperslab(space, H5S_SELECT_SET, start + skip, NULL, count + skip, NULL) >= 0 &&
                    H5Dread(dataset, type, memory, space, H5P_DEFAULT, buffer) >= 0 &&
                    convert(buffer, type, q, data);
    free(buffer);
    if (ok) return STATE_OK;
    return state_fail(STATE_DAMAGED, why, "cannot read dataset %s of %s: %s", q->dataset, q->path,
                      state_h5_reason());
}

/* *found NULL: the dataset has to be there. */
static state_status read_dataset(hid_t file, const state_foreign *q, void *data, bool *found, sentence *why)
{
    bool elsewhere = false;
    STATE_H5_SCOPED const hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    H5Pset_elink_cb(access, refuse_link, &elsewhere);
    const bool there = path_exists(file, q->dataset, access);
    STATE_H5_SCOPED const hid_t set = there ? H5Dopen2(file, q->dataset, access) : H5I_INVALID_HID;
    if (found) *found = there || elsewhere; /* one that cannot be read is not to be taken for none */
    if (found && !*found) return STATE_OK;
    if (elsewhere) return MISFIT(q, why, "lies in another file, to which %s links: name that file", q->path);
    if (set < 0) return no_dataset(file, q, why);
    const state_status status = check_dataset(set, q, why);
    return status == STATE_OK ? read_own(set, q, data, why) : status;
}

/* A whole state of weft. */
static state_status read_state(const state_info *s, const state_foreign *q, void *data, bool *found,
                               sentence *why)
{
    int i = 0;
    while (i < s->fields &&
           (strncmp(q->dataset, "/fields/", 8) != 0 || strcmp(q->dataset + 8, s->field[i].name) != 0))
        i++;
    if (found) *found = i < s->fields;
    if (i == s->fields) return STATE_OK;
    if (s->field[i].nx != q->nx || s->field[i].ny != q->ny)
        return MISFIT(q, why, "has %lld x %lld cells; the grid needs %lld x %lld (nx x ny)",
                      (long long)s->field[i].nx, (long long)s->field[i].ny, (long long)q->nx,
                      (long long)q->ny);
    void *const buffer = malloc((size_t)box_cells(q->own) * sizeof(double) + 1);
    if (!buffer) return state_fail(STATE_IO, why, "no memory to read %s", q->path);
    state_status status = state_read(s, i, q->own, buffer, why);
    if (status == STATE_OK && !convert(buffer, native(s->type), q, data))
        status = state_fail(STATE_IO, why, "cannot convert %s: %s", q->path, state_h5_reason());
    free(buffer);
    return status;
}

/* ---- a file that crashes HDF5 ---- */

static const int crashes[] = { SIGSEGV, SIGBUS, SIGABRT }; /* SIGFPE is fp.c's */
enum { CRASHES = sizeof crashes / sizeof *crashes };
static char crash_text[640];

static void on_crash(int number)
{
    (void)number;
    (void)!write(STDERR_FILENO, crash_text, strlen(crash_text));
    check_leave(CHECK_EXIT_ENVIRONMENT);
}

static state_status read_file(const state_foreign *u, const state_foreign *u_prev, void *data, void *prev,
                              bool *has_prev, sentence *why)
{
    const struct sigaction now = { .sa_handler = on_crash };
    struct sigaction before[CRASHES];
    STATE_H5_SCOPED hid_t file = H5I_INVALID_HID;
    snprintf(crash_text, sizeof crash_text,
             "weft: problem.initial: HDF5 crashed on %.400s: it is damaged, or malicious\n", u->path);
    for (int i = 0; i < CRASHES; i++) sigaction(crashes[i], &now, &before[i]);
    state_status status = state_h5_open(u->path, &file, why);
    if (status == STATE_DAMAGED) status = STATE_MISSING; /* no HDF5 file: a wrong input */
    if (status == STATE_OK) status = read_dataset(file, u, data, NULL, why);
    if (status == STATE_OK && prev) status = read_dataset(file, u_prev, prev, has_prev, why);
    for (int i = 0; i < CRASHES; i++) sigaction(crashes[i], &before[i], NULL);
    return status;
}

state_status state_read_foreign(MPI_Comm comm, const state_foreign *u, void *data, void *prev, bool *has_prev,
                                sentence *why)
{
    const state_foreign u_prev = { u->path, "/fields/u_prev", u->type, u->nx, u->ny, u->own };
    state_info own;
    bool found = false, found_prev = false;
    state_status status = STATE_OK;
    if (state_open(comm, u->path, &own, why) == STATE_OK) {
        status = read_state(&own, u, data, &found, why);
        if (found && status == STATE_OK && prev) status = read_state(&own, &u_prev, prev, &found_prev, why);
    }
    state_close(&own);
    if (!found) status = read_file(u, &u_prev, data, prev, &found_prev, why);
    status = state_agree(comm, status, why);
    if (has_prev) *has_prev = found_prev;
    return status;
}
