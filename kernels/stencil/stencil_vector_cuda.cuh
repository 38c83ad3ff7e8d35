/* Shared by all stencil kernels: the weights, the window of cells around a vector, the terms of a sum, stores
 * cut to a box.
 *
 * Weights lie in __constant__ and are indexed only by unrolled compile-time indices, so that each is an
 * operand of its FMA, from the constant bank or a uniform register, and costs no load and no register. */
#pragma once

#include <type_traits>

#include "core/cell.h"
#include "cuda/tiles_cuda.cuh"
#include "cuda/vector_cuda.cuh"
#include "stencil/stencil_cuda.h"

/* One copy in every unit; only the array of the bound stencil's type is in use. */
static __constant__ float weights_f32[STENCIL_CUDA_CONSTANTS];
static __constant__ double weights_f64[STENCIL_CUDA_CONSTANTS];

/* A vector of cur, which several threads read and none writes during the pass. */
template <typename T> static __device__ __forceinline__ void load_shared(T *c, const T *p)
{
    unpack16(__ldg(reinterpret_cast<const typename vector16<T>::type *>(p)), c);
}
/* A vector of a row in shared memory. */
template <typename T> static __device__ __forceinline__ void load_row(T *c, const float4 *p)
{
    unpack16(*reinterpret_cast<const typename vector16<T>::type *>(p), c);
}

template <typename T> static __device__ __forceinline__ T weight(int i)
{
    if constexpr (sizeof(T) == sizeof(float)) return weights_f32[i];
    else return weights_f64[i];
}

/* Term i of a sum: the first is a product; beta * prev is term STENCIL_CUDA_BETA. */
template <typename T> static __device__ __forceinline__ T term(int i, T u, T sum)
{
    return i == 0 ? weight<T>(i) * u : fma_of(weight<T>(i), u, sum);
}

/* Sums of V cells side by side: one term of all of them at a time, since they do not depend on each other.
 * row: these cells, with R cells to either side. */
template <typename T, int V> static __device__ __forceinline__ void add_term(int i, const T *row, T (&sum)[V])
{
#pragma unroll
    for (int v = 0; v < V; v++) sum[v] = term(i, row[v], sum[v]);
}

template <int R, typename T, int V> static __device__ __forceinline__ void sum_line(const T *row, T (&sum)[V])
{
#pragma unroll
    for (int k = R; k >= 1; k--) {
        add_term(2 * (R - k), row - k, sum);
        add_term(2 * (R - k) + 1, row + k, sum);
    }
    add_term(2 * R, row, sum);
}

/* north(k), south(k): the rows k above and below. */
template <int R, typename T, int V, typename NORTH, typename SOUTH>
static __device__ __forceinline__ void sum_star(const T *row, NORTH north, SOUTH south, T (&sum)[V])
{
#pragma unroll
    for (int k = R; k >= 1; k--) {
        add_term(4 * (R - k), row - k, sum);
        add_term(4 * (R - k) + 1, row + k, sum);
        add_term(4 * (R - k) + 2, north(k), sum);
        add_term(4 * (R - k) + 3, south(k), sum);
    }
    add_term(4 * R, row, sum);
}

/* The cells [from, to) of a vector at x lie in the box's columns; an empty range has to <= from. */
struct span {
    int from, to;
};
template <typename T> static __device__ __forceinline__ span columns_of(const box &cells, int64_t x)
{
    constexpr int64_t V = vector_cells<T>;
    return { (int)min(max(cells.x0 - x, (int64_t)0), V), (int)min(max(cells.x1 - x, (int64_t)0), V) };
}

template <typename T> static __device__ __forceinline__ void store(T *p, span in, const T *c)
{
    constexpr int V = vector_cells<T>;
    if (in.from == 0 && in.to == V) {
        store_once(p, c);
    } else {
#pragma unroll
        for (int v = 0; v < V; v++)
            if (v >= in.from && v < in.to) p[v] = c[v];
    }
}

/* A vector of a row and the cells around it: row()[v + d] is cell v + d, |d| <= R. */
template <typename T, int R> struct window {
    static constexpr int V = vector_cells<T>, SIDE = (R + V - 1) / V, CELLS = (2 * SIDE + 1) * V;
    T cell[CELLS];
    __device__ __forceinline__ const T *row() const { return cell + SIDE * V; }
};

/* Uploads a stencil's weights into this unit's constant memory. Host side; done when it returns. */
static inline cudaError_t upload_weights(const stencil *op, cudaStream_t stream)
{
    float f32[STENCIL_CUDA_CONSTANTS] = {};
    double f64[STENCIL_CUDA_CONSTANTS] = {};
    const int n = stencil_weights(op->form, op->radius);
    for (int i = 0; i < n; i++) f64[i] = op->weight[i];
    f64[STENCIL_CUDA_BETA] = op->beta;
    for (int i = 0; i < STENCIL_CUDA_CONSTANTS; i++) f32[i] = (float)f64[i];
    cudaError_t e = cudaMemcpyToSymbolAsync(weights_f32, f32, sizeof f32, 0, cudaMemcpyHostToDevice, stream);
    if (e == cudaSuccess)
        e = cudaMemcpyToSymbolAsync(weights_f64, f64, sizeof f64, 0, cudaMemcpyHostToDevice, stream);
    const cudaError_t done = cudaStreamSynchronize(stream); /* the arrays above end with this function */
    return e != cudaSuccess ? e : done;
}

/* Host side: serve(T(), radius) with the type of the call's stencil and its radius as a constant. A call that
 * prepares uploads the weights first. */
template <int R = 1, typename SERVE> static cudaError_t by_radius(const stencil_call *c, SERVE serve)
{
    if constexpr (R < STENCIL_RADIUS_MAX)
        if (c->op->radius > R) return by_radius<R + 1>(c, serve);
    const cudaError_t e = c->variant ? cudaSuccess : upload_weights(c->op, c->stream);
    if (e != cudaSuccess) return e;
    return by_type(c->op->type, [&](auto cell) { return serve(cell, std::integral_constant<int, R>()); });
}
