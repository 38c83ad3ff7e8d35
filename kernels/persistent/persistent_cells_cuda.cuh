/* Moves of a lane's cells: in pieces, to and from shared memory and L2, and as words through L2 that carry
 * the exchange's number. */
#pragma once

#include "cuda/vector_cuda.cuh"

/* ---- pieces of a row: a lane's cells, 16 bytes at a time, or 8 where it has no more ---- */

template <int CELLS> static __device__ __forceinline__ void put_piece(unsigned to, const float *c)
{
    if constexpr (CELLS == 2)
        asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(to), "f"(c[0]), "f"(c[1]) : "memory");
    else
        asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to), "f"(c[0]), "f"(c[1]), "f"(c[2]),
                     "f"(c[3])
                     : "memory");
}
template <int CELLS> static __device__ __forceinline__ void put_piece(unsigned to, const double *c)
{
    asm volatile("st.shared.v2.f64 [%0], {%1, %2};" ::"r"(to), "d"(c[0]), "d"(c[1]) : "memory");
}
template <int CELLS, typename T> static __device__ __forceinline__ void get_piece(unsigned from, T *c)
{
    if constexpr (CELLS * sizeof(T) == 16) read16(from, c);
    else asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(c[0]), "=f"(c[1]) : "r"(from) : "memory");
}

/* Accesses past the L1 caches, which are not coherent with each other. */
template <typename T> static __device__ __forceinline__ void give16(T *to, const T *c)
{
    T piece[vector_cells<T>];
#pragma unroll
    for (int v = 0; v < vector_cells<T>; v++) piece[v] = c[v];
    __stcg((typename vector16<T>::type *)to, pack16(piece));
}
template <typename T> static __device__ __forceinline__ void take16(const T *from, T *c)
{
    T piece[vector_cells<T>];
    unpack16(__ldcg((const typename vector16<T>::type *)from), piece);
#pragma unroll
    for (int v = 0; v < vector_cells<T>; v++) c[v] = piece[v];
}

/* ---- words: two adjacent ones, each 4 bytes of a lane's cells and above them the exchange's number ---- */

template <typename T>
static __device__ __forceinline__ void store_words(uint64_t *to, const T *c, unsigned number)
{
    const uint64_t high = (uint64_t)number << 32;
    unsigned bits[2];
    memcpy(bits, c, sizeof bits);
    asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(high | bits[0]),
                 "l"(high | bits[1])
                 : "memory");
}
/* wrong: gets more bits if one of the words has not arrived. */
template <typename T>
static __device__ __forceinline__ void load_words(const uint64_t *from, unsigned number, unsigned &wrong,
                                                  T *c)
{
    uint64_t a, b;
    asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];" : "=l"(a), "=l"(b) : "l"(from) : "memory");
    wrong |= (unsigned)(a >> 32) ^ number;
    wrong |= (unsigned)(b >> 32) ^ number;
    const unsigned bits[] = { (unsigned)a, (unsigned)b };
    memcpy(c, bits, sizeof bits);
}
