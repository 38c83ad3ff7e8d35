/* The trailer stands behind HDF5's end, which HDF5 ignores: a program that changes the file, or copies its
 * contents elsewhere, drops or breaks it, and weft then takes the file for a foreign one. */
#include "state/state_index.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/kind.h"
#include "files/crc32c.h"
#include "files/replace.h"
#include "ranks/ranks.h"
#include "ranks/check.h"
#include "state/state_h5.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "files hold little-endian numbers, as memory has to");

enum { STEP_DIGITS = 10, COLUMNS = 5 };

/* ---- geometry ---- */

void state_number_blocks(state_info *s)
{
    s->blocks = 0;
    for (int k = 0; k < s->parts; k++)
        for (int i = 0; i < s->fields; i++) {
            s->part[k].block[i] = s->blocks;
            s->blocks += state_blocks(s->part[k].of[i].cells, s->type);
        }
}

box state_piece(box all, dtype t, size_t bytes, int64_t n)
{
    const int64_t most = (int64_t)(bytes / dtype_bytes(t)), cells = most > 0 ? most : 1,
                  width = box_width(all);
    if (box_empty(all)) return all;
    if (width > cells) { /* pieces of a row */
        const int64_t per_row = (width + cells - 1) / cells, x = all.x0 + n % per_row * cells,
                      y = all.y0 + n / per_row;
        return box_intersect(all, box_make(x, x + cells, y, y + 1));
    }
    const int64_t rows = cells / width, y = all.y0 + n * rows;
    return box_intersect(all, box_make(all.x0, all.x1, y, y + rows));
}

int64_t state_blocks(box b, dtype t)
{
    const int64_t most = STATE_BLOCK_BYTES / (int64_t)dtype_bytes(t), width = box_width(b);
    if (box_empty(b)) return 0;
    if (width > most) return box_height(b) * ((width + most - 1) / most);
    return (box_height(b) + most / width - 1) / (most / width);
}

box state_block(const state_info *s, int k, int i, int64_t n)
{
    return state_piece(s->part[k].of[i].cells, s->type, STATE_BLOCK_BYTES, n);
}

void state_part_path(const state_info *s, int k, char out[STATE_PATH_BYTES])
{
    const char *const slash = strrchr(s->path, '/');
    const int beside = slash ? (int)(slash + 1 - s->path) : 0;
    if (s->folder[0]) snprintf(out, STATE_PATH_BYTES, "%.*s%s/%d.h5", beside, s->path, s->folder, k);
    else snprintf(out, STATE_PATH_BYTES, "%s", s->path);
}

int64_t state_cells_bytes(const state_info *s, int k, int i)
{
    return box_cells(s->part[k].of[i].cells) * (int64_t)dtype_bytes(s->type);
}

void state_path(char *out, size_t out_bytes, const char *dir, int64_t step)
{
    snprintf(out, out_bytes, "%s/step_%0*" PRId64 ".h5", dir, STEP_DIGITS, step);
}

int64_t state_step_of(const char *path)
{
    const char *const slash = strrchr(path, '/'), *const name = slash ? slash + 1 : path;
    if (strncmp(name, "step_", 5) != 0 || strspn(name + 5, "0123456789") != STEP_DIGITS ||
        strcmp(name + 5 + STEP_DIGITS, ".h5") != 0)
        return -1;
    return strtoll(name + 5, NULL, 10);
}

uint32_t state_problem(const state_info *s)
{
    char text[256];
    size_t used = (size_t)snprintf(text, sizeof text, "%s %s", s->kind, dtype_name(s->type));
    for (int i = 0; i < s->fields; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, " %s %" PRId64 " %" PRId64,
                                 s->field[i].name, s->field[i].nx, s->field[i].ny);
    return crc32c(0, text, used);
}

/* ---- the trailer ---- */

#define TRAILER_CELLS "%016" PRIx64 "+%016" PRIx64
#define TRAILER                                                                                              \
    "weft state trailer 2 folder=%08" PRIx32 " problem=%08" PRIx32 " cells=" TRAILER_CELLS "," TRAILER_CELLS \
    " crc32c="
enum { TRAILER_BYTES = 144, TRAILER_DIGITS_BYTES = 9 };

static int crc_of_run(int fd, uint64_t from, uint64_t to, uint32_t *crc)
{
    static _Thread_local char buffer[64 << 10];
    for (uint64_t at = from; at < to;) {
        const size_t bytes = to - at < sizeof buffer ? (size_t)(to - at) : sizeof buffer;
        const int code = replace_pread(fd, buffer, bytes, at);
        if (code) return code;
        *crc = crc32c(*crc, buffer, bytes);
        at += bytes;
    }
    return 0;
}

/* CRC-32C of [0, bytes) without the runs of cells, which follow each other. 0 or errno. */
static int structure_crc(int fd, uint64_t bytes, const uint64_t at_bytes[STATE_FIELDS_MAX],
                         const uint64_t run_bytes[STATE_FIELDS_MAX], uint32_t *crc)
{
    uint64_t at = 0;
    int code = 0;
    *crc = 0;
    for (int i = 0; i < STATE_FIELDS_MAX && !code; i++) {
        if (run_bytes[i] == 0) continue;
        if (at_bytes[i] < at || at_bytes[i] > bytes || run_bytes[i] > bytes - at_bytes[i]) return EBADMSG;
        code = crc_of_run(fd, at, at_bytes[i], crc);
        at = at_bytes[i] + run_bytes[i];
    }
    return code ? code : crc_of_run(fd, at, bytes, crc);
}

int state_part_crc(const state_info *s, int k, int fd, uint32_t *crc)
{
    uint64_t at_bytes[STATE_FIELDS_MAX] = { 0 }, run_bytes[STATE_FIELDS_MAX] = { 0 };
    for (int i = 0; i < s->fields; i++) {
        at_bytes[i] = (uint64_t)s->part[k].of[i].at_bytes;
        run_bytes[i] = (uint64_t)state_cells_bytes(s, k, i);
    }
    return structure_crc(fd, (uint64_t)s->part[k].bytes, at_bytes, run_bytes, crc);
}

static void put_trailer(char line[TRAILER_BYTES + 1], const state_trailer *t, uint32_t crc)
{
    snprintf(line, TRAILER_BYTES + 1, TRAILER "%08" PRIx32 "\n", t->token, t->problem, t->at_bytes[0],
             t->cells_bytes[0], t->at_bytes[1], t->cells_bytes[1], crc);
}

/* CRC-32C of all before the checksum's digits. */
static int trailer_crc(int fd, uint64_t bytes, const state_trailer *t, const char *line, uint32_t *crc)
{
    const int code = structure_crc(fd, bytes, t->at_bytes, t->cells_bytes, crc);
    *crc = crc32c(*crc, line, TRAILER_BYTES - TRAILER_DIGITS_BYTES);
    return code;
}

static state_status compare_trailer(int fd, const char *path, state_trailer *t, sentence *why)
{
    struct stat info;
    char found[TRAILER_BYTES + 1] = "", line[TRAILER_BYTES + 1];
    uint32_t wanted = 0, crc = 0;
    if (fstat(fd, &info) != 0) return state_file_failed("read", path, errno, why);
    const uint64_t bytes = (uint64_t)info.st_size;
    int code = bytes < TRAILER_BYTES ? 0 : replace_pread(fd, found, TRAILER_BYTES, bytes - TRAILER_BYTES);
    const int words = sscanf(found, TRAILER "%8" SCNx32, &t->token, &t->problem, &t->at_bytes[0],
                             &t->cells_bytes[0], &t->at_bytes[1], &t->cells_bytes[1], &wanted);
    put_trailer(line, t, wanted);
    const bool whole = words == 7 && memcmp(line, found, TRAILER_BYTES) == 0;
    if (!code && whole) code = trailer_crc(fd, bytes - TRAILER_BYTES, t, found, &crc);
    if (code == EBADMSG || (!code && !whole))
        return state_fail(
            STATE_DAMAGED, why,
            "%s is not a whole state of weft: it does not end in a state's trailer (jobs/state makes "
            "one of an older version's file, or of one that another program changed)",
            path);
    if (code) return state_file_failed("read", path, code, why);
    if (crc == wanted) return STATE_OK;
    return state_fail(STATE_DAMAGED, why,
                      "%s is damaged: its index has CRC-32C %08x, but its trailer says %08x", path, crc,
                      wanted);
}

state_status state_trailer_check(const char *path, state_trailer *t, sentence *why)
{
    memset(t, 0, sizeof *t);
    int fd;
    state_status status = state_file_open(path, &fd, why);
    if (status != STATE_OK) return status;
    status = compare_trailer(fd, path, t, why);
    close(fd);
    return status;
}

int state_trailer_append(const char *path, const state_trailer *t)
{
    struct stat info = { .st_size = 0 };
    char line[TRAILER_BYTES + 1];
    uint32_t crc = 0;
    state_trailer found;
    sentence why;
    const int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    int code = fd < 0 || fstat(fd, &info) != 0 ? errno : 0;
    const uint64_t bytes = (uint64_t)info.st_size;
    put_trailer(line, t, 0);
    if (!code) code = trailer_crc(fd, bytes, t, line, &crc);
    put_trailer(line, t, crc);
    if (!code) code = replace_pwrite(fd, line, TRAILER_BYTES, bytes);
    if (!code && fsync(fd) != 0) code = errno;
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED); /* read from where it was written to */
    if (fd >= 0 && close(fd) != 0 && !code) code = errno;
    return code ? code : state_trailer_check(path, &found, &why) == STATE_OK ? 0 : EIO;
}

/* ---- making files ---- */

static hid_t new_file(const char *path)
{
    STATE_H5_SCOPED const hid_t access = state_h5_access(), how = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_obj_track_times(how, false);
    return H5Fcreate(path, H5F_ACC_EXCL, how, access);
}

static state_status h5_failed(const char *path, const char *what, sentence *why)
{
    return state_fail(STATE_IO, why, "cannot write %s: %s: %s", path, what, state_h5_reason());
}

/* The cells of one part. Every byte is written by its owner: HDF5 need not fill it first. */
static bool put_cells(hid_t group, state_info *s, int k, int i)
{
    const box b = s->part[k].of[i].cells;
    const hsize_t shape[2] = { (hsize_t)box_height(b), (hsize_t)box_width(b) };
    const int skip = s->field[i].ny == 1 ? 1 : 0;
    STATE_H5_SCOPED const hid_t space = H5Screate_simple(2 - skip, shape + skip, NULL),
                                layout = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_alloc_time(layout, H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(layout, H5D_FILL_TIME_NEVER);
    H5Pset_obj_track_times(layout, false);
    STATE_H5_SCOPED const hid_t set = H5Dcreate2(group, s->field[i].name, state_h5_file_type(s->type), space,
                                                 H5P_DEFAULT, layout, H5P_DEFAULT);
    s->part[k].of[i].at_bytes = set < 0 ? -1 : (int64_t)H5Dget_offset(set);
    return s->part[k].of[i].at_bytes != -1; /* HADDR_UNDEF too */
}

state_status state_part_create(state_info *s, int k, sentence *why)
{
    char path[STATE_PATH_BYTES];
    struct stat info;
    state_part *const p = &s->part[k];
    state_part_path(s, k, path);
    state_h5_quiet();
    const hid_t file = new_file(path);
    if (file < 0) return h5_failed(path, "H5Fcreate", why);
    const hid_t group = s->parts == 1 ? state_h5_create_group(file, "fields") : file;
    bool ok = group >= 0;
    if (ok && s->parts > 1)
        ok = state_h5_put_text(file, "state", s->folder) && state_h5_put_integer(file, "part", k);
    for (int i = 0; i < s->fields && ok; i++)
        if (!box_empty(p->of[i].cells)) ok = put_cells(group, s, k, i);
    state_status status = ok ? STATE_OK : h5_failed(path, "datasets", why);
    if (group != file) state_h5_close(&group);
    if (H5Fclose(file) < 0 && ok) status = h5_failed(path, "H5Fclose", why);
    if (status == STATE_OK && stat(path, &info) != 0) return state_file_failed("write", path, errno, why);
    p->bytes = status == STATE_OK ? info.st_size : 0;
    return status;
}

/* ---- views: virtual datasets over the parts ---- */

/* The fields as VTK's own readers know them are an image with a value at each cell's centre. Readers differ
 * in what they take for a flat image. VTK 9.1 (Debian 12, Ubuntu 24.04) wants three axes and overruns its
 * memory where one has a single point; later ones take two axes, and then three no more. What all of them
 * take has two points or more along every axis: so z shows the cells twice, as a plate one cell thick, and a
 * field of one row or column has no image. */
enum { AXES = 3, IMAGE_LAYERS = 2 }; /* z, y, x, as HDF5 counts them */

/* Part k of field i in layer z of a view with `dims` axes. */
static bool map_part(hid_t how, hid_t view, int dims, hsize_t z, const state_info *s, int k, int i)
{
    char file[STATE_NAME_BYTES + 16] = ".", set[64];
    const box b = s->part[k].of[i].cells;
    const hsize_t at[AXES] = { z, (hsize_t)b.y0, (hsize_t)b.x0 },
                  count[AXES] = { 1, (hsize_t)box_height(b), (hsize_t)box_width(b) };
    const int of_set = s->field[i].ny == 1 ? 1 : 2, skip = AXES - dims;
    STATE_H5_SCOPED const hid_t source = H5Screate_simple(of_set, count + AXES - of_set, NULL);
    if (s->folder[0]) snprintf(file, sizeof file, "%s/%d.h5", s->folder, k);
    snprintf(set, sizeof set, s->folder[0] ? "/%s" : "/fields/%s", s->field[i].name);
    return H5Sselect_hyperslab(view, H5S_SELECT_SET, at + skip, NULL, count + skip, NULL) >= 0 &&
           H5Pset_virtual(how, view, file, set, source) >= 0;
}

/* Field i, or with AXES dims the image of it, as a virtual dataset. Without a source cells are NaN, not
 * zeros. */
static hid_t create_view(hid_t group, const state_info *s, int i, int dims)
{
    static const double nan = NAN;
    const hsize_t layers = dims == AXES ? IMAGE_LAYERS : 1;
    const hsize_t shape[AXES] = { layers, (hsize_t)s->field[i].ny, (hsize_t)s->field[i].nx };
    STATE_H5_SCOPED const hid_t how = H5Pcreate(H5P_DATASET_CREATE),
                                view = H5Screate_simple(dims, shape + AXES - dims, NULL);
    H5Pset_obj_track_times(how, false);
    bool ok = H5Pset_fill_value(how, H5T_NATIVE_DOUBLE, &nan) >= 0;
    for (int k = 0; k < s->parts; k++)
        for (hsize_t z = 0; z < layers && ok && !box_empty(s->part[k].of[i].cells); z++)
            ok = map_part(how, view, dims, z, s, k, i);
    H5Sselect_all(view);
    if (!ok) return H5I_INVALID_HID;
    return H5Dcreate2(group, s->field[i].name, state_h5_file_type(s->type), view, H5P_DEFAULT, how,
                      H5P_DEFAULT);
}

static bool put_fingerprint(hid_t object, uint64_t fingerprint)
{
    char digits[17];
    snprintf(digits, sizeof digits, "%016" PRIx64, fingerprint);
    return state_h5_put_text(object, "fingerprint", digits);
}

static bool put_fields(hid_t root, const state_info *s)
{
    STATE_H5_SCOPED const hid_t group =
        s->folder[0] ? state_h5_create_group(root, "fields") : H5Gopen2(root, "fields", H5P_DEFAULT);
    bool ok = group >= 0;
    for (int i = 0; i < s->fields && ok; i++) {
        STATE_H5_SCOPED const hid_t set = s->folder[0] ? create_view(group, s, i, s->field[i].ny == 1 ? 1 : 2)
                                                       : H5Dopen2(group, s->field[i].name, H5P_DEFAULT);
        ok = set >= 0 && put_fingerprint(set, s->field[i].fingerprint);
    }
    return ok;
}

/* ---- /VTKHDF ---- */

static bool put_integers(hid_t group, const char *name, hsize_t count, const int64_t *values)
{
    return state_h5_put(group, name, H5T_STD_I64LE, H5T_NATIVE_INT64, count, values);
}

static bool put_numbers(hid_t group, const char *name, hsize_t count, const double *values)
{
    return state_h5_put(group, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, count, values);
}

static bool put_image(hid_t group, const state_field *f)
{
    static const char type_text[] = "ImageData"; /* of a fixed length and without an end mark */
    STATE_H5_SCOPED const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, sizeof type_text - 1);
    H5Tset_strpad(type, H5T_STR_NULLPAD);
    const int64_t version[] = { 1, 0 }, extent[] = { 0, f->nx - 1, 0, f->ny - 1, 0, IMAGE_LAYERS - 1 };
    const double origin[] = { 0.5, 0.5, 0 }, spacing[] = { 1, 1, 1 },
                 direction[] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 };
    return state_h5_put(group, "Type", type, type, 0, type_text) &&
           put_integers(group, "Version", 2, version) && put_integers(group, "WholeExtent", 6, extent) &&
           put_numbers(group, "Origin", 3, origin) && put_numbers(group, "Spacing", 3, spacing) &&
           put_numbers(group, "Direction", 9, direction);
}

/* An image has one shape: of a transpose that is not square, b alone. */
static bool put_vtk(hid_t root, const state_info *s)
{
    const state_field *f = &s->field[s->main_field];
    if (f->nx == 1 || f->ny == 1) return true;
    STATE_H5_SCOPED const hid_t group = state_h5_create_group(root, "VTKHDF");
    STATE_H5_SCOPED const hid_t data = state_h5_create_group(group, "PointData");
    bool ok = data >= 0 && put_image(group, f);
    for (int i = 0; i < s->fields && ok; i++) {
        if (s->field[i].nx != f->nx || s->field[i].ny != f->ny) continue;
        STATE_H5_SCOPED const hid_t set = create_view(data, s, i, AXES);
        ok = set >= 0;
    }
    return ok;
}

/* ---- tables ---- */

/* Selects, from the rows of parts in memory, the columns that the file has: those of its fields. */
static hid_t space_of_parts(const state_info *s, hsize_t shape[2])
{
    const hsize_t row[2] = { (hsize_t)s->parts, sizeof *s->part / sizeof(int64_t) }, begin[2] = { 0, 0 };
    shape[0] = (hsize_t)s->parts;
    shape[1] = (hsize_t)(2 + COLUMNS * s->fields);
    const hid_t space = H5Screate_simple(2, row, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, begin, NULL, shape, NULL);
    return space;
}

static bool put_table(hid_t root, const char *name, hid_t file_type, hid_t type, int dims,
                      const hsize_t *shape, hid_t memory, const void *values, hid_t *set)
{
    STATE_H5_SCOPED const hid_t space = H5Screate_simple(dims, shape, NULL),
                                how = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(how, false);
    *set = H5Dcreate2(root, name, file_type, space, H5P_DEFAULT, how, H5P_DEFAULT);
    return *set >= 0 && H5Dwrite(*set, type, memory, H5S_ALL, H5P_DEFAULT, values) >= 0;
}

static bool put_parts(hid_t root, const state_info *s)
{
    hsize_t shape[2];
    char names[48];
    STATE_H5_SCOPED const hid_t memory = space_of_parts(s, shape);
    STATE_H5_SCOPED hid_t set = H5I_INVALID_HID;
    snprintf(names, sizeof names, s->fields == 1 ? "%s" : "%s %s", s->field[0].name, s->field[1].name);
    return put_table(root, "parts", H5T_STD_I64LE, H5T_NATIVE_INT64, 2, shape, memory, s->part, &set) &&
           state_h5_put_text(set, "fields", names);
}

static bool put_blocks(hid_t root, const state_info *s)
{
    const hsize_t blocks = (hsize_t)s->blocks;
    STATE_H5_SCOPED hid_t set = H5I_INVALID_HID;
    return put_table(root, "blocks", H5T_STD_U32LE, H5T_NATIVE_UINT32, 1, &blocks, H5S_ALL, s->crc, &set) &&
           state_h5_put_integer(set, "block_bytes", STATE_BLOCK_BYTES);
}

static const char *describe(hid_t root, const state_info *s)
{
    if (!state_h5_put_integer(root, "schema_version", STATE_SCHEMA_VERSION) ||
        !state_h5_put_text(root, "program", "weft") || !state_h5_put_text(root, "version", s->version) ||
        !state_h5_put_text(root, "kind", s->kind) || !state_h5_put_integer(root, "step", s->step) ||
        !state_h5_put_text(root, "deck", s->deck) || !state_h5_put_text(root, "folder", s->folder) ||
        !put_fingerprint(root, s->field[s->main_field].fingerprint))
        return "attributes";
    if (!put_fields(root, s)) return "/fields";
    if (!put_parts(root, s)) return "/parts";
    if (!put_blocks(root, s)) return "/blocks";
    return put_vtk(root, s) ? NULL : "/VTKHDF";
}

/* ---- reading an index, whose trailer has been compared ---- */

static bool get_fingerprint(hid_t object, uint64_t *fingerprint)
{
    char digits[17];
    return state_h5_get_text(object, "fingerprint", digits, sizeof digits) &&
           sscanf(digits, "%16" SCNx64, fingerprint) == 1;
}

/* Type and fingerprint of a field by the dataset itself, whose cells are not read. */
static bool read_field(hid_t file, state_info *s, int i)
{
    char path[64];
    snprintf(path, sizeof path, "/fields/%s", s->field[i].name);
    STATE_H5_SCOPED const hid_t set = H5Dopen2(file, path, H5P_DEFAULT), type = H5Dget_type(set);
    s->type = H5Tequal(type, H5T_IEEE_F32LE) > 0 ? DTYPE_F32 : DTYPE_F64;
    return set >= 0 && get_fingerprint(set, &s->field[i].fingerprint);
}

static bool read_parts(hid_t file, state_info *s)
{
    char names[48];
    hsize_t shape[2];
    STATE_H5_SCOPED const hid_t set = H5Dopen2(file, "/parts", H5P_DEFAULT), space = H5Dget_space(set);
    if (!state_h5_get_text(set, "fields", names, sizeof names)) return false;
    s->fields = sscanf(names, "%15s %15s", s->field[0].name, s->field[1].name);
    for (int i = 0; i < s->fields; i++)
        if (!read_field(file, s, i)) return false;
    s->parts = (int)(H5Sget_simple_extent_npoints(space) / (2 + COLUMNS * s->fields));
    s->part = CHECK_CALLOC(s->parts, sizeof *s->part);
    STATE_H5_SCOPED const hid_t memory = space_of_parts(s, shape);
    if (H5Dread(set, H5T_NATIVE_INT64, memory, H5S_ALL, H5P_DEFAULT, s->part) < 0) return false;
    for (int k = 0; k < s->parts; k++)
        for (int i = 0; i < s->fields; i++) {
            const box b = s->part[k].of[i].cells;
            if (b.x1 > s->field[i].nx) s->field[i].nx = b.x1;
            if (b.y1 > s->field[i].ny) s->field[i].ny = b.y1;
        }
    return s->parts > 0;
}

static bool read_blocks(hid_t file, state_info *s)
{
    state_number_blocks(s);
    const hsize_t blocks = (hsize_t)s->blocks;
    s->crc = CHECK_CALLOC(s->blocks, sizeof *s->crc);
    STATE_H5_SCOPED const hid_t set = H5Dopen2(file, "/blocks", H5P_DEFAULT),
                                memory = H5Screate_simple(1, &blocks, NULL);
    return H5Dread(set, H5T_NATIVE_UINT32, memory, H5S_ALL, H5P_DEFAULT, s->crc) >= 0;
}

/* NULL, or what cannot be read. */
static const char *read_index(hid_t file, state_info *s)
{
    int64_t schema = 0;
    if (!state_h5_get_integer(file, "schema_version", &schema) || schema != STATE_SCHEMA_VERSION)
        return "schema_version 2";
    if (!state_h5_get_integer(file, "step", &s->step)) return "step";
    if (!state_h5_get_text(file, "kind", s->kind, sizeof s->kind)) return "kind";
    if (!state_h5_get_text(file, "folder", s->folder, sizeof s->folder)) return "folder";
    if (!state_h5_get_text(file, "deck", s->deck, sizeof s->deck)) return "deck";
    if (!read_parts(file, s)) return "/parts";
    if (!read_blocks(file, s)) return "/blocks";
    const kind_row *const kind = kind_find(s->kind);
    s->main_field = kind && kind->main_field < s->fields ? kind->main_field : 0;
    return NULL;
}

static state_status open_here(const char *path, state_info *s, sentence *why)
{
    state_trailer trailer;
    STATE_H5_SCOPED hid_t file = H5I_INVALID_HID;
    state_status status = state_trailer_check(path, &trailer, why);
    if (status == STATE_OK) status = state_h5_open(path, &file, why);
    if (status != STATE_OK) return status;
    const char *const missing = read_index(file, s);
    if (missing) return state_fail(STATE_DAMAGED, why, "%s is damaged: it has no readable %s", path, missing);
    const int64_t named = state_step_of(path);
    if (named < 0 || named == s->step) return STATE_OK;
    return state_fail(STATE_DAMAGED, why,
                      "%s is damaged: it holds step %" PRId64 " under the name of step %" PRId64, path,
                      s->step, named);
}

bool state_is_alike(const state_info *a, const state_info *b)
{
    bool alike = strcmp(a->kind, b->kind) == 0 && a->type == b->type && a->fields == b->fields;
    for (int i = 0; i < a->fields && alike; i++)
        alike = strcmp(a->field[i].name, b->field[i].name) == 0 && a->field[i].nx == b->field[i].nx &&
                a->field[i].ny == b->field[i].ny;
    return alike;
}

state_status state_index_write(const char *path, const state_info *s, sentence *why)
{
    STATE_H5_SCOPED const hid_t access = state_h5_access();
    state_h5_quiet();
    const hid_t file = s->folder[0] ? new_file(path) : H5Fopen(path, H5F_ACC_RDWR, access);
    const char *const failed = file < 0 ? "H5Fcreate" : describe(file, s);
    if (failed) (void)h5_failed(path, failed, why);
    if (file >= 0 && H5Fclose(file) < 0 && !failed) return h5_failed(path, "H5Fclose", why);
    if (failed) return STATE_IO;
    state_info found = { .parts = 0 };
    STATE_H5_SCOPED const hid_t again = H5Fopen(path, H5F_ACC_RDONLY, access);
    const bool same = again >= 0 && !read_index(again, &found) && found.parts == s->parts &&
                      memcmp(found.part, s->part, (size_t)s->parts * sizeof *s->part) == 0 &&
                      memcmp(found.crc, s->crc, (size_t)s->blocks * sizeof *s->crc) == 0;
    state_close(&found);
    if (same) return STATE_OK; /* all else in it has HDF5's own checksums */
    return state_fail(STATE_IO, why, "cannot write %.600s: its index was read back otherwise", s->path);
}

state_status state_open(MPI_Comm comm, const char *path, state_info *s, sentence *why)
{
    memset(s, 0, sizeof *s);
    snprintf(s->path, sizeof s->path, "%s", path);
    const bool reads = ranks_mine(comm) == 0;
    const state_status status = state_agree(comm, reads ? open_here(path, s, why) : STATE_OK, why);
    if (status != STATE_OK) return status;
    state_part *const part = s->part;
    uint32_t *const crc = s->crc;
    MPI_CHECK(ranks_bcast(s, sizeof *s, MPI_BYTE, 0, comm));
    s->part = reads ? part : CHECK_CALLOC(s->parts, sizeof *part);
    s->crc = reads ? crc : CHECK_CALLOC(s->blocks, sizeof *crc);
    MPI_CHECK(ranks_bcast(s->part, s->parts * (int)sizeof *part, MPI_BYTE, 0, comm));
    MPI_CHECK(ranks_bcast(s->crc, (int)s->blocks, MPI_UINT32_T, 0, comm));
    return STATE_OK;
}

void state_close(state_info *s)
{
    free(s->part);
    free(s->crc);
    s->part = NULL;
    s->crc = NULL;
}
