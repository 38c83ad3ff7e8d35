#include "state/checkpoint_probe_child.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "state/checkpoint_dataset.h"
#include "state/checkpoint_directory.h"
#include "state/checkpoint_foreign.h"
#include "state/checkpoint_h5.h"
#include "state/checkpoint_info.h"
#include "state/checkpoint_sums.h"
#include "state/checkpoint_walk.h"

enum { CPU_S = 5, BAND_BYTES = 64 << 20 };

/* Are the data more to HDF5 than a run of bytes? */
static bool is_interpreted(hid_t dataset)
{
    CHECKPOINT_H5_SCOPED const hid_t how = H5Dget_create_plist(dataset);
    const H5D_layout_t layout = H5Pget_layout(how);
    return layout != H5D_CONTIGUOUS && layout != H5D_COMPACT;
}

/* Rows to read at a time: enough that no chunk is read twice, if that is no more than BAND_BYTES or one row
 * of chunks. */
static hsize_t rows_at_once(hid_t dataset, int dims, const hsize_t *shape)
{
    CHECKPOINT_H5_SCOPED const hid_t how = H5Dget_create_plist(dataset);
    hsize_t chunk[2] = { 1, 1 }, row_cells = dims == 2 ? shape[1] : 1;
    if (H5Pget_layout(how) == H5D_CHUNKED) H5Pget_chunk(how, dims, chunk);
    if (chunk[0] < 1 || chunk[0] > shape[0]) chunk[0] = 1;
    const hsize_t rows = BAND_BYTES / sizeof(double) / (row_cells ? row_cells : 1);
    return rows > chunk[0] ? rows - rows % chunk[0] : chunk[0];
}

/* So much more than before, by the soft limit: none but root may raise the hard one again. */
static void allow_processor(double seconds)
{
    static double all_s;
    struct rlimit limit;
    all_s += seconds;
    if (getrlimit(RLIMIT_CPU, &limit) != 0) return;
    limit.rlim_cur = all_s < (double)limit.rlim_max ? (rlim_t)all_s : limit.rlim_max;
    (void)setrlimit(RLIMIT_CPU, &limit);
}

static void read_rows(hid_t dataset, hid_t space, int dims, const hsize_t *shape)
{
    const hsize_t rows = rows_at_once(dataset, dims, shape), row_cells = dims == 2 ? shape[1] : 1;
    double *const data =
        row_cells <= SIZE_MAX / sizeof *data / rows ? malloc(rows * row_cells * sizeof *data) : NULL;
    bool ok = data != NULL;
    for (hsize_t y = 0; y < shape[0] && ok; y += rows) {
        const hsize_t begin[2] = { y, 0 },
                      count[2] = { shape[0] - y < rows ? shape[0] - y : rows, row_cells };
        const hsize_t cells = count[0] * row_cells;
        CHECKPOINT_H5_SCOPED const hid_t memory = H5Screate_simple(1, &cells, NULL);
        ok = H5Sselect_hyperslab(space, H5S_SELECT_SET, begin, NULL, count, NULL) >= 0
             && H5Dread(dataset, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, data) >= 0;
    }
    free(data);
}

/* What the parent refuses is not read, and may be large: another number of cells, or numbers or chunks that
 * are too long. */
static void read_data(hid_t dataset, int64_t cells)
{
    CHECKPOINT_H5_SCOPED const hid_t space = H5Dget_space(dataset), type = H5Dget_type(dataset);
    const int dims = H5Sget_simple_extent_ndims(space);
    hsize_t shape[2] = { 0, 0 };
    const bool wanted = cells > 0 && H5Sget_simple_extent_npoints(space) == cells &&
                        (dims == 1 || dims == 2) && H5Tget_size(type) <= CHECKPOINT_NUMBER_BYTES_MAX &&
                        checkpoint_h5_chunks_fit(dataset);
    if (wanted && H5Sget_simple_extent_dims(space, shape, NULL) >= 0 && is_interpreted(dataset)) {
        allow_processor((double)cells * sizeof(double) / CHECKPOINT_PROBE_SLOWEST_BYTES_PER_S);
        read_rows(dataset, space, dims, shape);
    }
}

static void look_at_field(hid_t file, const char *path, const checkpoint_field *f, dtype type)
{
    sentence why;
    CHECKPOINT_H5_SCOPED hid_t dataset = H5I_INVALID_HID;
    uint64_t fingerprint;
    checkpoint_sums sums;
    if (checkpoint_dataset_open(file, path, f, type, &dataset, &fingerprint, &why) == CHECKPOINT_OK)
        read_data(dataset, f->nx * f->ny);
    if (checkpoint_sums_read(file, path, f, &sums, &why) == CHECKPOINT_OK) checkpoint_sums_free(&sums);
}

static void look_at_state(hid_t file, const char *path)
{
    sentence why;
    checkpoint_info info = { .deck = NULL };
    if (checkpoint_info_of(file, path, &info, &why) == CHECKPOINT_OK) {
        const checkpoint_state s = checkpoint_info_fields(&info);
        for (int i = 0; i < s.fields; i++) look_at_field(file, path, &s.field[i], s.type);
    }
    checkpoint_info_free(&info);
}

static void look_at_dataset(hid_t file, const char *name, int64_t cells)
{
    sentence elsewhere;
    char list[CHECKPOINT_LISTED_BYTES];
    CHECKPOINT_H5_SCOPED const hid_t access = checkpoint_elsewhere_access(&elsewhere),
                                     dataset = H5Dopen2(file, name, access);
    /* for the sentence that says what there is instead */
    if (dataset < 0) checkpoint_foreign_list_datasets(file, list);
    else if (checkpoint_elsewhere_lies_beside(dataset, &elsewhere)) read_data(dataset, cells);
}

int checkpoint_probe_child(const char *what)
{
    sentence why;
    char name[CHECKPOINT_PATH_BYTES] = CHECKPOINT_PROBE_ALL, *number_end = NULL;
    hid_t file;
    int64_t cells = 0;
    const char *const name_end = strchr(what, '\n'), *path = what;
    if (name_end) {
        snprintf(name, sizeof name, "%.*s", (int)(name_end - what), what);
        cells = strtoll(name_end + 1, &number_end, 10);
        path = number_end + (*number_end == '\n');
    }
    (void)setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    allow_processor(CPU_S);
    if (checkpoint_h5_open(path, &file, &why) != CHECKPOINT_OK) return 0; /* the parent finds that too */
    if (name[0] == '/') look_at_dataset(file, name, cells);
    else look_at_state(file, path);
    if (strcmp(name, CHECKPOINT_PROBE_ALL) == 0) (void)checkpoint_walk(file, &why);
    H5Fclose(file);
    return 0;
}
