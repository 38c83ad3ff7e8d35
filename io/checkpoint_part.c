/* Agreement over ranks, HDF5 by one rank, bands and fingerprints: see checkpoint_part.h. */
#include "checkpoint_part.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "device_host.h"
#include "ranks.h"

/* Once MPI runs, HDF5 would have MPI_Finalize end it. */
void checkpoint_before_mpi_init(void)
{
    H5dont_atexit();
    H5open();
}

checkpoint_status checkpoint_fail(checkpoint_status status, char *why, size_t why_bytes, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, why_bytes, format, args);
    va_end(args);
    return status;
}

checkpoint_status checkpoint_agree(MPI_Comm comm, checkpoint_status mine, char *why, size_t why_bytes)
{
    int rank, ranks;
    MPI_CHECK(ranks_mine(comm, &rank));
    MPI_CHECK(ranks_count(comm, &ranks));
    /* the worst status first, then the lowest rank */
    const int64_t key = (int64_t)mine * ranks + (ranks - 1 - rank);
    int64_t worst;
    MPI_CHECK(ranks_allreduce(&key, &worst, 1, MPI_INT64_T, MPI_MAX, comm));
    const checkpoint_status status = (checkpoint_status)(worst / ranks);
    if (status == CHECKPOINT_OK) return status;
    const int speaker = ranks - 1 - (int)(worst % ranks);
    char text[CHECKPOINT_SENTENCE_BYTES] = "";
    if (rank == speaker) snprintf(text, sizeof text, "%s", why);
    MPI_CHECK(ranks_bcast(text, (int)sizeof text, MPI_CHAR, speaker, comm));
    if (why_bytes) snprintf(why, why_bytes, "%s", text);
    return status;
}

/* ---- HDF5 ---- */

void checkpoint_h5_quiet(void) { H5Eset_auto2(H5E_DEFAULT, NULL, NULL); }

static herr_t take_innermost(unsigned n, const H5E_error2_t *e, void *text)
{
    if (n == 0 && e->desc) snprintf(text, CHECKPOINT_SENTENCE_BYTES / 2, "%s", e->desc);
    return n == 0 ? 1 : 0; /* 1 ends the walk */
}

const char *checkpoint_h5_reason(void)
{
    static char text[CHECKPOINT_SENTENCE_BYTES / 2];
    snprintf(text, sizeof text, "HDF5 gave no reason");
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_innermost, text);
    for (char *c = text; *c; c++)
        if (*c == '\n') *c = ' ';
    return text;
}

checkpoint_status checkpoint_h5_open(const char *path, hid_t *file, char *why, size_t why_bytes)
{
    checkpoint_h5_quiet();
    *file = H5I_INVALID_HID;
    struct stat info;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* of a pipe, no wait for somebody who writes into it */
    const int code = fd < 0 || fstat(fd, &info) != 0 ? errno : 0;
    if (fd >= 0) close(fd);
    if (code == ENOENT || code == ENOTDIR) return checkpoint_fail(CHECKPOINT_MISSING, why, why_bytes, "%s: no such file", path);
    if (code) return checkpoint_fail(CHECKPOINT_IO, why, why_bytes, "cannot read %s: %s", path, strerror(code));
    if (S_ISDIR(info.st_mode))
        return checkpoint_fail(CHECKPOINT_MISSING, why, why_bytes, "%s is a directory, not a file", path);
    if (!S_ISREG(info.st_mode))
        return checkpoint_fail(CHECKPOINT_DAMAGED, why, why_bytes, "%s is a pipe or a device, not a file", path);

    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    /* Parallel file systems often have no locks, and a file under its final name has no writer. */
    H5Pset_file_locking(access, false, true);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    *file = H5Fopen(path, H5F_ACC_RDONLY, access);
    if (*file < 0)
        checkpoint_fail(CHECKPOINT_DAMAGED, why, why_bytes, "%s is not an HDF5 file or is damaged: %s", path,
                        checkpoint_h5_reason());
    H5Pclose(access);
    return *file < 0 ? CHECKPOINT_DAMAGED : CHECKPOINT_OK;
}

hid_t checkpoint_h5_file_type(dtype t) { return t == DTYPE_F32 ? H5T_IEEE_F32LE : H5T_IEEE_F64LE; }
hid_t checkpoint_h5_memory_type(dtype t) { return t == DTYPE_F32 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE; }

bool checkpoint_h5_select(hid_t space, box part)
{
    if (box_empty(part)) return H5Sselect_none(space) >= 0;
    const hsize_t start[2] = { (hsize_t)part.y0, (hsize_t)part.x0 };
    const hsize_t count[2] = { (hsize_t)box_height(part), (hsize_t)box_width(part) };
    const int skip = H5Sget_simple_extent_ndims(space) == 1 ? 1 : 0;
    return H5Sselect_hyperslab(space, H5S_SELECT_SET, start + skip, NULL, count + skip, NULL) >= 0;
}

char *checkpoint_attribute_text(hid_t object, const char *name, size_t max_bytes)
{
    char *text = NULL;
    if (H5Aexists(object, name) <= 0) return NULL;
    const hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    if (attribute < 0) return NULL;
    const hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    /* What this program writes has a fixed length; a variable one would let a damaged file choose what is allocated. */
    const size_t bytes = H5Tget_size(type);
    if (H5Tget_class(type) == H5T_STRING && !H5Tis_variable_str(type) && bytes && bytes <= max_bytes
        && H5Sget_simple_extent_npoints(space) == 1) {
        text = calloc(1, bytes + 1);
        if (text && H5Aread(attribute, type, text) < 0) {
            free(text);
            text = NULL;
        }
    }
    H5Sclose(space);
    H5Tclose(type);
    H5Aclose(attribute);
    return text;
}

bool checkpoint_parse_fingerprint(const char *text, uint64_t *fingerprint)
{
    if (!text || strlen(text) != CHECKPOINT_FINGERPRINT_DIGITS
        || strspn(text, "0123456789abcdef") != CHECKPOINT_FINGERPRINT_DIGITS)
        return false;
    *fingerprint = strtoull(text, NULL, 16);
    return true;
}

bool checkpoint_chunks_fit(hid_t dataset)
{
    enum { ANY_DATASET_S_BYTES = 64 << 20 };
    const hid_t how = H5Dget_create_plist(dataset), space = H5Dget_space(dataset), type = H5Dget_type(dataset);
    hsize_t chunk[H5S_MAX_RANK] = { 0 };
    const int dims = H5Pget_layout(how) == H5D_CHUNKED ? H5Pget_chunk(how, H5S_MAX_RANK, chunk) : 0;
    double cells = dims > 0 ? 1 : 0;
    for (int i = 0; i < dims && i < H5S_MAX_RANK; i++) cells *= (double)chunk[i];
    const bool fit = cells <= (double)H5Sget_simple_extent_npoints(space)
                     || cells * (double)H5Tget_size(type) <= ANY_DATASET_S_BYTES;
    H5Tclose(type);
    H5Sclose(space);
    H5Pclose(how);
    return fit;
}

/* More than deflate packs into a byte (1032 of them). */
enum { PACKED_MAX = 4096 };

/* HDF5 reads as zeros what is not in the file, however much that is. */
static bool is_all_there(hid_t dataset, const checkpoint_field *f, dtype type)
{
    const uint64_t bytes = (uint64_t)f->nx * (uint64_t)f->ny * dtype_bytes(type);
    const hid_t how = H5Dget_create_plist(dataset);
    const H5D_layout_t layout = H5Pget_layout(how);
    H5Pclose(how);
    if (layout != H5D_CONTIGUOUS) return bytes / PACKED_MAX < H5Dget_storage_size(dataset); /* repacked by other programs */
    return H5Dget_storage_size(dataset) == bytes && H5Dget_offset(dataset) != HADDR_UNDEF;
}

checkpoint_status checkpoint_dataset_open(hid_t file, const char *path, const checkpoint_field *f, dtype type,
                                          hid_t *dataset, uint64_t *fingerprint, char *why, size_t why_bytes)
{
    char name[64];
    const char *reason;
    snprintf(name, sizeof name, "/fields/%s", f->name);
    *dataset = checkpoint_open_inside(file, "/fields", f->name, &reason);
    if (*dataset < 0) return checkpoint_fail(CHECKPOINT_DAMAGED, why, why_bytes, "%s: dataset %s %s", path, name, reason);

    checkpoint_status status = CHECKPOINT_OK;
    const hid_t space = H5Dget_space(*dataset), file_type = H5Dget_type(*dataset);
    hsize_t shape[2] = { 1, 1 };
    const int dims = H5Sget_simple_extent_ndims(space);
    const bool shaped = (dims == 1 || dims == 2) && H5Sget_simple_extent_dims(space, dims == 1 ? shape + 1 : shape, NULL) >= 0;
    if (!shaped || (dims == 1) != (f->ny == 1) || shape[0] != (hsize_t)f->ny || shape[1] != (hsize_t)f->nx)
        status = checkpoint_fail(CHECKPOINT_DAMAGED, why, why_bytes,
                                 "%s: %s has %d dimensions and %llu x %llu cells; needed are %lld x %lld (ny x nx)", path,
                                 name, dims, (unsigned long long)shape[0], (unsigned long long)shape[1], (long long)f->ny,
                                 (long long)f->nx);
    else if (H5Tequal(file_type, checkpoint_h5_file_type(type)) <= 0)
        status = checkpoint_fail(CHECKPOINT_DAMAGED, why, why_bytes, "%s: %s is not of type %s", path, name, dtype_name(type));
    else if (!checkpoint_chunks_fit(*dataset))
        status = checkpoint_fail(CHECKPOINT_DAMAGED, why, why_bytes, "%s: %s has chunks larger than itself", path, name);
    else if (!is_all_there(*dataset, f, type))
        status = checkpoint_fail(CHECKPOINT_DAMAGED, why, why_bytes, "%s: %s has no data or only a part of it", path, name);
    else {
        char *text = checkpoint_attribute_text(*dataset, "fingerprint", 64);
        if (!checkpoint_parse_fingerprint(text, fingerprint))
            status = checkpoint_fail(CHECKPOINT_DAMAGED, why, why_bytes, "%s: %s has no readable fingerprint", path, name);
        free(text);
    }
    H5Tclose(file_type);
    H5Sclose(space);
    if (status != CHECKPOINT_OK) {
        H5Dclose(*dataset);
        *dataset = H5I_INVALID_HID;
    }
    return status;
}

/* ---- bands and fingerprints ---- */

typedef struct banding {
    int64_t rows, columns, pieces; /* a band: whole rows, or `pieces` to a row */
} banding;

static banding banding_of(box own, size_t cell_bytes, size_t band_bytes)
{
    const int64_t width = box_width(own);
    int64_t cells = (int64_t)(band_bytes / cell_bytes);
    if (cells < 1) cells = 1;
    if (width <= cells) return (banding){ width ? cells / width : 1, width, 1 };
    return (banding){ 1, cells, (width + cells - 1) / cells };
}

box checkpoint_band(box own, size_t cell_bytes, size_t band_bytes, int64_t index)
{
    const banding b = banding_of(own, cell_bytes, band_bytes);
    const int64_t y = own.y0 + index / b.pieces * b.rows, x = own.x0 + index % b.pieces * b.columns;
    return box_intersect(own, box_make(x, x + b.columns, y, y + b.rows));
}

int64_t checkpoint_bands(box own, size_t cell_bytes, size_t band_bytes)
{
    if (box_empty(own)) return 0;
    const banding b = banding_of(own, cell_bytes, band_bytes);
    return (box_height(own) + b.rows - 1) / b.rows * b.pieces;
}

uint64_t checkpoint_fingerprint_share(dtype t, const void *data, box own, int64_t nx)
{
    enum { RUN_CELLS = 4096 }; /* threads share out pieces of rows: in 1D there is one row */
    const int64_t width = box_width(own), height = box_height(own);
    uint64_t sum = 0;
#pragma omp parallel for collapse(2) reduction(+ : sum)
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x += RUN_CELLS) {
            const char *const run = (const char *)data + (size_t)(y * width + x) * dtype_bytes(t);
            const uint64_t linear = (uint64_t)((own.y0 + y) * nx + own.x0 + x);
            sum += reduce_host_fingerprint_row(t, run, linear, width - x < RUN_CELLS ? width - x : RUN_CELLS);
        }
    return sum;
}

int checkpoint_main_field(const checkpoint_state *s)
{
    for (int i = 0; i < s->fields; i++)
        if (strcmp(s->field[i].name, "b") == 0) return i;
    return 0;
}
