/* Boxes of a field to and from dense message buffers, all pieces of a message in one launch. Pieces whose
 * rows start and end on 16 bytes, in the field and in the buffer, move as 16-byte vectors, all others cell by
 * cell. */
#include "cuda/box_list_cuda.cuh"
#include "cuda/vector_cuda.cuh"
#include "device/device_cuda.h"

static_assert((int)BOX_LIST_MAX >= (int)PACK_PIECES_MAX, "a launch takes all pieces");

namespace {

__device__ __forceinline__ float sum(float a, float b) { return a + b; }
__device__ __forceinline__ double sum(double a, double b) { return a + b; }
__device__ __forceinline__ float4 sum(float4 a, float4 b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
__device__ __forceinline__ double2 sum(double2 a, double2 b) { return make_double2(a.x + b.x, a.y + b.y); }

/* The first unit of each entry of the box list, in the field and in the buffer. */
template <typename T> struct places {
    T *field[PACK_PIECES_MAX], *buffer[PACK_PIECES_MAX];
    bool vectors[PACK_PIECES_MAX];
};

enum direction { PACK, UNPACK, UNPACK_SUM };

template <direction DIRECTION, typename U> __device__ __forceinline__ void move(U *field, U *buffer)
{
    if (DIRECTION == PACK) *buffer = *field;
    if (DIRECTION == UNPACK) *field = *buffer;
    if (DIRECTION == UNPACK_SUM) *field = sum(*field, *buffer);
}

template <typename T, direction DIRECTION>
__global__ void __launch_bounds__(BOX_LIST_THREADS)
    move_kernel(int64_t pitch, const __grid_constant__ places<T> at, const __grid_constant__ box_list all)
{
    using vector = typename vector16<T>::type;
    constexpr int V = vector_cells<T>;
    box_list_run(all, [&](int e, int64_t i, int64_t x, int64_t y) {
        T *f = at.field[e] + y * pitch, *b = at.buffer[e];
        if (at.vectors[e])
            move<DIRECTION>(reinterpret_cast<vector *>(f + x * V), reinterpret_cast<vector *>(b + i * V));
        else
            move<DIRECTION>(f + x, b + i);
    });
}

template <typename T, direction DIRECTION>
cudaError_t launch(const field_shape *f, T *field, T *buffer, const pack_piece *pieces, int count,
                   cudaStream_t stream)
{
    constexpr int64_t V = vector_cells<T>;
    const bool aligned = ((uintptr_t)field | (uintptr_t)buffer) % 16 == 0;
    places<T> at = {};
    box_list all = {};
    assert(count <= PACK_PIECES_MAX);
    for (int i = 0; i < count; i++) {
        const box b = pieces[i].cells;
        if (box_empty(b)) continue;
        const int64_t first = field_index(f, b.x0, b.y0);
        const bool vectors = aligned && (first | pieces[i].offset | box_width(b) | f->pitch) % V == 0;
        at.field[all.count] = field + first;
        at.buffer[all.count] = buffer + pieces[i].offset;
        at.vectors[all.count] = vectors;
        box_list_add(&all, box_width(b) / (vectors ? V : 1), box_height(b));
    }
    if (all.blocks == 0) return cudaSuccess;
    move_kernel<T, DIRECTION><<<all.blocks, BOX_LIST_THREADS, 0, stream>>>(f->pitch, at, all);
    return cudaGetLastError();
}

template <direction DIRECTION>
cudaError_t by_type(const field_shape *f, void *field, void *buffer, const pack_piece *pieces, int count,
                    device_stream *s)
{
    const cudaStream_t stream = device_cuda_stream(s);
    switch (f->type) {
    case DTYPE_F32:
        return launch<float, DIRECTION>(f, (float *)field, (float *)buffer, pieces, count, stream);
    case DTYPE_F64:
        return launch<double, DIRECTION>(f, (double *)field, (double *)buffer, pieces, count, stream);
    }
    return cudaErrorInvalidValue;
}

} // namespace

/* One kernel serves both directions: DIRECTION decides what is written, so const memory stays unwritten. */
int pack_cuda(device *, const field_shape *f, const void *field, void *buffer, const pack_piece *pieces,
              int count, device_stream *s)
{
    return by_type<PACK>(f, (void *)field, buffer, pieces, count, s);
}

int unpack_cuda(device *, const field_shape *f, void *field, const void *buffer, const pack_piece *pieces,
                int count, unpack_mode mode, device_stream *s)
{
    switch (mode) {
    case UNPACK_STORE: return by_type<UNPACK>(f, field, (void *)buffer, pieces, count, s);
    case UNPACK_ADD: return by_type<UNPACK_SUM>(f, field, (void *)buffer, pieces, count, s);
    }
    return cudaErrorInvalidValue;
}
