/* A field out of a file that another program wrote: any HDF5 number type and byte order, contiguous, chunked
 * or compressed. Each rank reads its own cells through HDF5's own conversion, alone. What is wrong with such
 * a file is the user's to mend: MISSING; DAMAGED only where the data themselves cannot be read. HDF5 trusts
 * its input: a damaged file may crash it, which ends the run with the file named.
 *
 * Its values may lie in other files: behind external links, in external storage, in the sources of virtual
 * datasets. HDF5 reads what is missing there as zeros, and finds files by name anywhere, in the working
 * directory too. The other files have to lie beside the file that names them, be there, and hold what it
 * takes from them. A whole state of weft is read part by part instead (state_read). */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/replace.h"
#include "ranks/check.h"
#include "ranks/ranks.h"
#include "state/state.h"
#include "state/state_h5.h"
#include "state/state_index.h"

/* ---- values in other files ---- */

enum { NAME_BYTES = 512, LISTED_BYTES = 240 };
/* Twice the largest number that a compiler has: HDF5 holds several while it converts them. */
enum { NUMBER_BYTES_MAX = 32 };

/* A regular file of at least `bytes` in the folder of the file `of`; out: its path. */
static bool lies_beside(const char *of, const char *name, uint64_t bytes, char out[STATE_PATH_BYTES],
                        sentence *why)
{
    char folder[STATE_PATH_BYTES];
    struct stat info;
    replace_directory_of(folder, sizeof folder, of);
    if (strchr(name, '/'))
        return sentence_refuse(why, "has values in %.200s, but only files in its own folder are read", name);
    if (snprintf(out, STATE_PATH_BYTES, "%s/%s", folder, name) >= STATE_PATH_BYTES || stat(out, &info) != 0 ||
        !S_ISREG(info.st_mode))
        return sentence_refuse(why, "has values in %.200s, but there is no such file in its folder", name);
    if ((uint64_t)info.st_size < bytes)
        return sentence_refuse(why, "has values in %.200s, which is too short for them", name);
    return true;
}

/* HDF5 calls it before it follows an external link. Negative: it does not. */
static herr_t on_external_link(const char *parent, const char *group, const char *name, const char *object,
                               unsigned *flags, hid_t access, void *why)
{
    char path[STATE_PATH_BYTES];
    return lies_beside(parent, name, 0, path, why) ? 0 : -1;
}

/* For H5Lexists and H5Dopen2: external links are followed only to files beside the one that they are in;
 * where to another, or none, they fail and why has the end of a sentence, else "". To be closed; why outlives
 * it. */
static hid_t elsewhere_access(sentence *why)
{
    const hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    why->text[0] = '\0';
    H5Pset_elink_cb(access, on_external_link, why);
    H5Pset_efile_prefix(access, "${ORIGIN}"); /* else HDF5 looks in the working directory */
    return access;
}

static uint64_t dataset_bytes(hid_t dataset)
{
    STATE_H5_SCOPED const hid_t space = H5Dget_space(dataset), type = H5Dget_type(dataset);
    const hssize_t cells = H5Sget_simple_extent_npoints(space);
    return cells > 0 ? (uint64_t)cells * H5Tget_size(type) : 0;
}

/* External storage: pieces of files, one after another. */
static bool pieces_are_there(hid_t dataset, hid_t how, const char *of, sentence *why)
{
    uint64_t left = dataset_bytes(dataset);
    const int pieces = H5Pget_external_count(how);
    for (int i = 0; i < pieces && left > 0; i++) {
        char name[NAME_BYTES] = "", path[STATE_PATH_BYTES];
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

static bool is_inside(hid_t dataset)
{
    STATE_H5_SCOPED const hid_t how = H5Dget_create_plist(dataset);
    return H5Pget_layout(how) != H5D_VIRTUAL && H5Pget_external_count(how) == 0;
}

/* HDF5 opens all sources at once, and one that it has no descriptor for gives fill values. */
static bool descriptors_suffice(size_t sources, sentence *why)
{
    enum { OTHERS = 64 };
    struct rlimit most;
    if (getrlimit(RLIMIT_NOFILE, &most) != 0 || most.rlim_cur >= (rlim_t)sources + OTHERS) return true;
    return sentence_refuse(why,
                           "is virtual, with %zu sources, but a process may open only %llu files (ulimit -n)",
                           sources, (unsigned long long)most.rlim_cur);
}

/* Is what the selection `wanted` reaches to within the dataset, and not elsewhere once more? */
static bool holds(hid_t source, hid_t wanted)
{
    hsize_t shape[H5S_MAX_RANK], first[H5S_MAX_RANK], last[H5S_MAX_RANK];
    STATE_H5_SCOPED const hid_t space = H5Dget_space(source);
    const int dims = H5Sget_simple_extent_dims(space, shape, NULL);
    bool ok = is_inside(source) && dims == H5Sget_simple_extent_ndims(wanted);
    if (ok && H5Sget_select_type(wanted) != H5S_SEL_ALL) ok = H5Sget_select_bounds(wanted, first, last) >= 0;
    for (int i = 0; i < dims && ok && H5Sget_select_type(wanted) != H5S_SEL_ALL; i++) ok = last[i] < shape[i];
    return ok;
}

static bool source_holds(const char *path, const char *dataset, hid_t wanted)
{
    sentence unused;
    STATE_H5_SCOPED hid_t file = H5I_INVALID_HID;
    if (state_h5_open(path, &file, &unused) != STATE_OK) return false;
    STATE_H5_SCOPED const hid_t access = elsewhere_access(&unused), source = H5Dopen2(file, dataset, access);
    return source >= 0 && holds(source, wanted);
}

/* One of a virtual dataset's sources. *cells: those that it gives. */
static bool source_is_there(hid_t how, size_t i, const char *of, hssize_t *cells, sentence *why)
{
    char name[NAME_BYTES] = "", dataset[NAME_BYTES] = "", path[STATE_PATH_BYTES];
    STATE_H5_SCOPED const hid_t wanted = H5Pget_virtual_srcspace(how, i),
                                given = H5Pget_virtual_vspace(how, i);
    bool ok = H5Pget_virtual_filename(how, i, name, sizeof name) > 0 &&
              H5Pget_virtual_dsetname(how, i, dataset, sizeof dataset) > 0;
    const bool same_file = strcmp(name, ".") == 0;
    *cells = H5Sget_select_npoints(given);
    if (!ok) sentence_set(why, "has values in other files, whose names cannot be read");
    else if (!same_file) ok = lies_beside(of, name, 0, path, why);
    if (ok && !source_holds(same_file ? of : path, dataset, wanted))
        ok = sentence_refuse(why, "is virtual, but its source %.200s does not hold all the values it needs",
                             same_file ? dataset : name);
    return ok;
}

static bool sources_are_there(hid_t dataset, hid_t how, const char *of, sentence *why)
{
    STATE_H5_SCOPED const hid_t space = H5Dget_space(dataset);
    hssize_t left = H5Sget_simple_extent_npoints(space), cells = 0;
    size_t count = 0;
    bool ok = H5Pget_virtual_count(how, &count) >= 0 && descriptors_suffice(count, why);
    for (size_t i = 0; i < count && ok; i++) {
        ok = source_is_there(how, i, of, &cells, why);
        left -= cells;
    }
    return ok && (left <= 0 || sentence_refuse(why, "is virtual, but some of its values have no source"));
}

/* Do all its values lie in its file, or in files beside that which are there and hold them? */
static bool values_lie_beside(hid_t dataset, sentence *why)
{
    char of[STATE_PATH_BYTES] = "";
    STATE_H5_SCOPED const hid_t how = H5Dget_create_plist(dataset);
    if (H5Fget_name(dataset, of, sizeof of) <= 0) return false;
    if (H5Pget_external_count(how) > 0) return pieces_are_there(dataset, how, of, why);
    return H5Pget_layout(how) != H5D_VIRTUAL || sources_are_there(dataset, how, of, why);
}

/* ---- naming what is there ---- */

/* A sentence has room for a few datasets: a file of very many objects is not walked to its end. */
enum { LISTED_OBJECTS_MAX = 1000 };

typedef struct listing {
    char *list;
    int objects;
} listing;

/* H5Lvisit calls it, in which a group has one name however its links go round: 1 ends the walk. Links other
 * than hard ones lead to other names, or elsewhere. */
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

/* The paths of the first datasets that the file has, as many as there is room for. */
static void list_datasets(hid_t file, char list[LISTED_BYTES])
{
    listing l = { .list = list };
    list[0] = '\0';
    (void)H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, list_link, &l);
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
        used += (size_t)snprintf(out + used, out_bytes - used, "%s%llu", i ? ", " : "",
                                 (unsigned long long)shape[i]);
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
    STATE_H5_SCOPED const hid_t access = elsewhere_access(&elsewhere);
    return path_exists(file, path, access) || elsewhere.text[0];
}

/* "FILE: dataset /NAME " and what it has. */
__attribute__((format(printf, 3, 4))) static state_status misfit(const state_foreign *q, sentence *why,
                                                                 const char *format, ...)
{
    sentence what;
    va_list args;
    va_start(args, format);
    sentence_set_list(&what, format, args);
    va_end(args);
    return state_fail(STATE_MISSING, why, "%s: dataset %s %s", q->path, q->dataset, what.text);
}

static state_status check_type(hid_t dataset, const state_foreign *q, sentence *why)
{
    STATE_H5_SCOPED const hid_t type = H5Dget_type(dataset);
    const H5T_class_t class = H5Tget_class(type);
    const size_t bytes = H5Tget_size(type);
    if (class != H5T_INTEGER && class != H5T_FLOAT)
        return misfit(q, why, "holds %s; allowed are integers or floats", type_name(class));
    if (bytes > NUMBER_BYTES_MAX)
        return misfit(q, why, "holds numbers of %zu bytes; at most %d are allowed", bytes, NUMBER_BYTES_MAX);
    return STATE_OK;
}

static state_status check_shape(hid_t dataset, const state_foreign *q, sentence *why)
{
    STATE_H5_SCOPED const hid_t space = H5Dget_space(dataset);
    const int dims = H5Sget_simple_extent_ndims(space);
    hsize_t shape[H5S_MAX_RANK] = { 0 };
    if (dims > 0) H5Sget_simple_extent_dims(space, shape, NULL);
    const bool flat = dims == 1 && q->ny == 1 && shape[0] == (hsize_t)q->nx;
    const bool full = dims == 2 && shape[0] == (hsize_t)q->ny && shape[1] == (hsize_t)q->nx;
    if (flat || full) return STATE_OK;
    char is[256], needed[64];
    const hsize_t grid[2] = { (hsize_t)q->ny, (hsize_t)q->nx };
    put_shape(is, sizeof is, dims < 0 ? 0 : dims, shape);
    put_shape(needed, sizeof needed, q->ny == 1 ? 1 : 2, q->ny == 1 ? grid + 1 : grid);
    return misfit(q, why, "has shape %s; the grid needs %s = %s", is,
                  q->ny == 1 ? "(grid.nx)" : "(grid.ny, grid.nx)", needed);
}

static state_status read_own(hid_t dataset, const state_foreign *q, void *data, sentence *why)
{
    const char *const reason = state_h5_read(dataset, q->own, q->type, data);
    if (!reason) return STATE_OK;
    return state_fail(STATE_DAMAGED, why, "cannot read dataset %s of %s: %s", q->dataset, q->path, reason);
}

/* *dataset where there is one; OK where its values are where they may be. */
static state_status open_dataset(hid_t file, const state_foreign *q, hid_t *dataset, sentence *why)
{
    sentence elsewhere;
    char list[LISTED_BYTES];
    STATE_H5_SCOPED const hid_t access = elsewhere_access(&elsewhere);
    *dataset = path_exists(file, q->dataset, access) ? H5Dopen2(file, q->dataset, access) : H5I_INVALID_HID;
    if (*dataset >= 0 && values_lie_beside(*dataset, &elsewhere)) return STATE_OK;
    if (elsewhere.text[0]) return misfit(q, why, "%s", elsewhere.text);
    list_datasets(file, list);
    return state_fail(STATE_MISSING, why, "%s has no dataset %s (it has %s)", q->path, q->dataset,
                      *list ? list : "none");
}

static state_status read_dataset(hid_t file, const state_foreign *q, void *data, sentence *why)
{
    STATE_H5_SCOPED hid_t dataset = H5I_INVALID_HID;
    state_status status = open_dataset(file, q, &dataset, why);
    if (status == STATE_OK) status = check_type(dataset, q, why);
    if (status == STATE_OK) status = check_shape(dataset, q, why);
    if (status == STATE_OK && !state_h5_chunks_fit(dataset))
        status = misfit(q, why, "has chunks larger than itself");
    return status == STATE_OK ? read_own(dataset, q, data, why) : status;
}

static state_status read_levels(const state_foreign *u, const state_foreign *u_prev, void *data, void *prev,
                                bool *found_prev, sentence *why)
{
    STATE_H5_SCOPED hid_t file = H5I_INVALID_HID;
    state_status status = state_h5_open(u->path, &file, why);
    if (status == STATE_DAMAGED) return STATE_MISSING; /* no HDF5 file: a wrong input, not a state gone bad */
    if (status != STATE_OK) return status;
    status = read_dataset(file, u, data, why);
    *found_prev = prev && status == STATE_OK && has_link(file, u_prev->dataset);
    return *found_prev ? read_dataset(file, u_prev, prev, why) : status;
}

/* ---- a file that crashes HDF5 ---- */

static const int crashes[] = { SIGSEGV, SIGBUS, SIGABRT }; /* SIGFPE is fp.c's */
enum { CRASHES = sizeof crashes / sizeof *crashes };
static char crash_text[NAME_BYTES + 128];

static void on_crash(int number)
{
    (void)number;
    (void)!write(STDERR_FILENO, crash_text, strlen(crash_text));
    check_leave(CHECK_EXIT_ENVIRONMENT);
}

static void watch_crashes(const char *path, struct sigaction before[CRASHES])
{
    struct sigaction now = { .sa_handler = on_crash };
    snprintf(crash_text, sizeof crash_text,
             "weft: problem.initial: HDF5 crashed on %.400s: it is damaged, or malicious\n", path);
    for (int i = 0; i < CRASHES; i++) sigaction(crashes[i], &now, &before[i]);
}

static void end_watch(const struct sigaction before[CRASHES])
{
    for (int i = 0; i < CRASHES; i++) sigaction(crashes[i], &before[i], NULL);
}

/* ---- a state of weft ---- */

static void convert(const void *from, dtype is, void *to, dtype wanted, int64_t cells)
{
    if (is == wanted) memcpy(to, from, (size_t)cells * dtype_bytes(is));
    else if (wanted == DTYPE_F64)
        for (int64_t k = 0; k < cells; k++) ((double *)to)[k] = ((const float *)from)[k];
    else
        for (int64_t k = 0; k < cells; k++) ((float *)to)[k] = (float)((const double *)from)[k];
}

static int field_named(const state_info *s, const char *dataset)
{
    for (int i = 0; i < s->fields; i++)
        if (strncmp(dataset, "/fields/", 8) == 0 && strcmp(dataset + 8, s->field[i].name) == 0) return i;
    return -1;
}

static state_status read_field(const state_info *s, int i, const state_foreign *q, void *data, sentence *why)
{
    const int64_t cells = box_cells(q->own);
    char shape[96];
    if (s->field[i].nx != q->nx || s->field[i].ny != q->ny) {
        snprintf(shape, sizeof shape, "%lld x %lld cells; the grid needs %lld x %lld (nx x ny)",
                 (long long)s->field[i].nx, (long long)s->field[i].ny, (long long)q->nx, (long long)q->ny);
        return misfit(q, why, "has %s", shape);
    }
    void *const found = malloc((size_t)cells * dtype_bytes(s->type) + 1);
    if (!found) return state_fail(STATE_IO, why, "no memory to read %s", q->path);
    const state_status status = state_read(s, i, q->own, found, why);
    if (status == STATE_OK) convert(found, s->type, data, q->type, cells);
    free(found);
    return status;
}

/* A whole state of weft, to be closed? Collective. */
static bool open_own(MPI_Comm comm, const state_foreign *u, state_info *s)
{
    state_trailer trailer;
    sentence why;
    int is_one = ranks_mine(comm) == 0 && state_trailer_check(u->path, &trailer, &why) == STATE_OK;
    MPI_CHECK(ranks_bcast(&is_one, 1, MPI_INT, 0, comm));
    if (!is_one) return false;
    if (state_open(comm, u->path, s, &why) == STATE_OK && field_named(s, u->dataset) >= 0) return true;
    state_close(s);
    return false;
}

static state_status read_own_levels(const state_info *s, const state_foreign *u, const state_foreign *u_prev,
                                    void *data, void *prev, bool *found_prev, sentence *why)
{
    const int earlier = field_named(s, u_prev->dataset);
    const state_status status = read_field(s, field_named(s, u->dataset), u, data, why);
    *found_prev = prev && status == STATE_OK && earlier >= 0;
    return *found_prev ? read_field(s, earlier, u_prev, prev, why) : status;
}

state_status state_read_foreign(MPI_Comm comm, const state_foreign *q, void *data, void *prev, bool *has_prev,
                                sentence *why)
{
    state_foreign u = *q, u_prev = *q;
    state_info own;
    state_status status;
    bool found_prev = false;
    u_prev.dataset = "/fields/u_prev";
    if (open_own(comm, &u, &own)) {
        status = read_own_levels(&own, &u, &u_prev, data, prev, &found_prev, why);
        state_close(&own);
    } else {
        struct sigaction before[CRASHES];
        watch_crashes(u.path, before);
        status = read_levels(&u, &u_prev, data, prev, &found_prev, why);
        end_watch(before);
    }
    status = state_agree(comm, status, why);
    if (has_prev) *has_prev = found_prev;
    return status;
}
