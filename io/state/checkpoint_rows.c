#include "state/checkpoint_rows.h"

#include <errno.h>
#include <unistd.h>

#include "device/device_host.h"

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

/* ---- the file ---- */

/* A rank's cells in a contiguous dataset in global order: one run of bytes where the rank owns whole rows (or
 * there is one row), else a piece of every row. */

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "files hold little-endian numbers, as memory has to");

/* writes: from data, which stays as it is; else into it. */
static int transfer(int fd, bool writes, void *data, size_t bytes, uint64_t at_bytes)
{
    for (size_t done = 0; done < bytes;) {
        char *const from = (char *)data + done;
        const off_t at = (off_t)(at_bytes + done);
        const ssize_t n = writes ? pwrite(fd, from, bytes - done, at) : pread(fd, from, bytes - done, at);
        if (n == 0) return EIO;
        if (n < 0 && errno != EINTR) return errno;
        if (n > 0) done += (size_t)n;
    }
    return 0;
}

int checkpoint_pwrite(int fd, const void *data, size_t bytes, uint64_t at_bytes)
{
    return transfer(fd, true, (void *)data, bytes, at_bytes);
}

int checkpoint_pread(int fd, void *data, size_t bytes, uint64_t at_bytes)
{
    return transfer(fd, false, data, bytes, at_bytes);
}

/* A run of bytes in the file for each row of `part`, or one for all where the rank owns whole rows. */
static int transfer_rows(int fd, bool writes, uint64_t field_at_bytes, const checkpoint_field *f, dtype type,
                         box part, void *data)
{
    const uint64_t cell_bytes = dtype_bytes(type), row_bytes = (uint64_t)f->nx * cell_bytes;
    const uint64_t at_bytes = field_at_bytes + (uint64_t)(part.y0 * f->nx + part.x0) * cell_bytes;
    const bool dense = box_width(part) == f->nx;
    const size_t run_bytes = (size_t)(dense ? box_cells(part) : box_width(part)) * cell_bytes;
    const int64_t runs = box_empty(part) ? 0 : dense ? 1 : box_height(part);
    int code = 0;
    for (int64_t i = 0; i < runs && !code; i++)
        code = transfer(fd, writes, (char *)data + (size_t)i * run_bytes, run_bytes,
                        at_bytes + (uint64_t)i * row_bytes);
    return code;
}

int checkpoint_rows_write(int fd, uint64_t field_at_bytes, const checkpoint_field *f, dtype type, box part,
                          const void *data)
{
    return transfer_rows(fd, true, field_at_bytes, f, type, part, (void *)data);
}

int checkpoint_rows_read(int fd, uint64_t field_at_bytes, const checkpoint_field *f, dtype type, box part,
                         void *data)
{
    return transfer_rows(fd, false, field_at_bytes, f, type, part, data);
}
