/* Stores the flag words of the level from which in-kernel steps begin. */
#include "device/device_cuda.h"
#include "inkernel/inkernel_image_cuda.cuh"

namespace {
enum { THREADS = 256, BLOCKS = 64 }; /* blocks of an image */

/* blockIdx.y: the image; its blocks divide its longer side into equal runs. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    flag_words_kernel(const T *level, int64_t pitch, const __grid_constant__ inkernel_step w)
{
    const inkernel_image &m = w.image[blockIdx.y];
    if (!m.flag_words) return;
    box part = m.cells;
    const int64_t width = part.x1 - part.x0, height = part.y1 - part.y0, k = blockIdx.x, n = gridDim.x;
    if (width > height) part.x0 += width * k / n, part.x1 = m.cells.x0 + width * (k + 1) / n;
    else part.y0 += height * k / n, part.y1 = m.cells.y0 + height * (k + 1) / n;
    if (!box_empty(part)) store_image<4>(m, level, pitch, part, w.epoch);
}

} // namespace

int inkernel_flag_words_cuda(device *d, const field_shape *f, const void *level, const inkernel_step *step,
                             device_stream *s)
{
    const dim3 blocks(BLOCKS, (unsigned)step->images);
    if (step->images == 0) return cudaSuccess;
    return by_type(f->type, [&](auto cell) {
        auto *const first = (const decltype(cell) *)field_at_const(f, level, 0, 0);
        flag_words_kernel<<<blocks, THREADS, 0, device_cuda_stream(s)>>>(first, f->pitch, *step);
        return cudaGetLastError();
    });
}
