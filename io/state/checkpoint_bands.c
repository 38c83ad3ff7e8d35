#include "state/checkpoint_bands.h"

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
