/* Fields given by a formula, on the GPU: cell_value in double, rounded once to the field's type. */
#include "core/cell.h"
#include "cuda/tiles_cuda.cuh"
#include "device/device_cuda.h"

namespace {

enum { THREADS = 128, ROWS = 8 };

template <typename T>
__global__ void __launch_bounds__(THREADS)
    fill_kernel(T *own, int64_t pitch, const __grid_constant__ value v, const __grid_constant__ tiles boxes)
{
    int64_t x, y;
    const box &cells = tiles_here(boxes, &x, &y).cells;
    x += threadIdx.x;
    if (x >= cells.x1) return;
    for (int j = 0; j < ROWS && y + j < cells.y1; j++) own[(y + j) * pitch + x] = (T)cell_value(&v, x, y + j);
}

} // namespace

int value_cuda_fill(device *, const field_shape *f, void *field, const value *v, box cells, device_stream *s)
{
    const tiles all = tiles_make(&cells, 1, 1, THREADS, ROWS);
    if (all.blocks == 0) return cudaSuccess;
    const cudaStream_t stream = device_cuda_stream(s);
    void *own = field_at(f, field, 0, 0);
    switch (f->type) {
    case DTYPE_F32: fill_kernel<<<all.blocks, THREADS, 0, stream>>>((float *)own, f->pitch, *v, all); break;
    case DTYPE_F64: fill_kernel<<<all.blocks, THREADS, 0, stream>>>((double *)own, f->pitch, *v, all); break;
    }
    return cudaGetLastError();
}
