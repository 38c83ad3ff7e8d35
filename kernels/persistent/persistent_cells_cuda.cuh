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

/* Accesses past the L1 caches, which are not coherent with each other, where `here` is not 0. The predicate
 * is part of the instruction: behind branches of their own, accesses of a lane's rows begin one after the
 * other. */
static __device__ __forceinline__ void give16(unsigned here, float *to, const float *c)
{
    asm volatile(
        "{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.global.cg.v4.f32 [%1], {%2, %3, %4, %5}; }" ::"r"(here),
        "l"(to), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3])
        : "memory");
}
static __device__ __forceinline__ void give16(unsigned here, double *to, const double *c)
{
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.global.cg.v2.f64 [%1], {%2, %3}; }" ::"r"(here),
                 "l"(to), "d"(c[0]), "d"(c[1])
                 : "memory");
}
static __device__ __forceinline__ void take16(unsigned here, const float *from, float *c)
{
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %4, 0; @p ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%5]; }"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(here), "l"(from)
                 : "memory");
}
static __device__ __forceinline__ void take16(unsigned here, const double *from, double *c)
{
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.cg.v2.f64 {%0, %1}, [%3]; }"
                 : "+d"(c[0]), "+d"(c[1])
                 : "r"(here), "l"(from)
                 : "memory");
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
