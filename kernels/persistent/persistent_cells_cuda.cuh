/* Moves of a lane's cells: in pieces, to and from shared memory and L2, and as words through L2 that carry
 * the exchange's number. */
#pragma once

#include "cuda/vector_cuda.cuh"

/* ---- pieces of a row: a lane's cells, 16 bytes at a time, or 8 where it has no more ---- */

static __device__ __forceinline__ void put_piece(unsigned to, const float (&c)[2])
{
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(to), "f"(c[0]), "f"(c[1]) : "memory");
}
static __device__ __forceinline__ void put_piece(unsigned to, const float (&c)[4])
{
    asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to), "f"(c[0]), "f"(c[1]), "f"(c[2]),
                 "f"(c[3])
                 : "memory");
}
static __device__ __forceinline__ void put_piece(unsigned to, const double (&c)[2])
{
    asm volatile("st.shared.v2.f64 [%0], {%1, %2};" ::"r"(to), "d"(c[0]), "d"(c[1]) : "memory");
}
static __device__ __forceinline__ void get_piece(unsigned from, float (&c)[2])
{
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(c[0]), "=f"(c[1]) : "r"(from) : "memory");
}
static __device__ __forceinline__ void get_piece(unsigned from, float (&c)[4]) { read16(from, c); }
static __device__ __forceinline__ void get_piece(unsigned from, double (&c)[2]) { read16(from, c); }

/* Accesses past the L1 caches, which are not coherent with each other, where `here` is not 0. The predicate
 * is part of the instruction: behind branches of their own, accesses of a lane's rows begin one after the
 * other. */
static __device__ __forceinline__ void give_piece(unsigned here, float *to, const float (&c)[2])
{
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.global.cg.v2.f32 [%1], {%2, %3}; }" ::"r"(here),
                 "l"(to), "f"(c[0]), "f"(c[1])
                 : "memory");
}
static __device__ __forceinline__ void give_piece(unsigned here, float *to, const float (&c)[4])
{
    asm volatile(
        "{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.global.cg.v4.f32 [%1], {%2, %3, %4, %5}; }" ::"r"(here),
        "l"(to), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3])
        : "memory");
}
static __device__ __forceinline__ void give_piece(unsigned here, double *to, const double (&c)[2])
{
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.global.cg.v2.f64 [%1], {%2, %3}; }" ::"r"(here),
                 "l"(to), "d"(c[0]), "d"(c[1])
                 : "memory");
}
static __device__ __forceinline__ void take_piece(unsigned here, const float *from, float (&c)[2])
{
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.cg.v2.f32 {%0, %1}, [%3]; }"
                 : "+f"(c[0]), "+f"(c[1])
                 : "r"(here), "l"(from)
                 : "memory");
}
static __device__ __forceinline__ void take_piece(unsigned here, const float *from, float (&c)[4])
{
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %4, 0; @p ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%5]; }"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(here), "l"(from)
                 : "memory");
}
static __device__ __forceinline__ void take_piece(unsigned here, const double *from, double (&c)[2])
{
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.cg.v2.f64 {%0, %1}, [%3]; }"
                 : "+d"(c[0]), "+d"(c[1])
                 : "r"(here), "l"(from)
                 : "memory");
}

/* ---- words: two adjacent ones, each 4 bytes of a cell and above them the number of the exchange ---- */

struct persistent_words {
    unsigned bits[2];
};
static __device__ __forceinline__ void store_words(uint64_t *to, persistent_words w, unsigned number)
{
    const uint64_t high = (uint64_t)number << 32;
    asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(high | w.bits[0]),
                 "l"(high | w.bits[1])
                 : "memory");
}
/* wrong: gets more bits if one of the words has not arrived. */
static __device__ __forceinline__ persistent_words load_words(const uint64_t *from, unsigned number,
                                                              unsigned &wrong)
{
    uint64_t a, b;
    asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];" : "=l"(a), "=l"(b) : "l"(from) : "memory");
    wrong |= (unsigned)(a >> 32) ^ number;
    wrong |= (unsigned)(b >> 32) ^ number;
    return { { (unsigned)a, (unsigned)b } };
}
static __device__ __forceinline__ persistent_words words_of(const float *c)
{
    return { { __float_as_uint(c[0]), __float_as_uint(c[1]) } };
}
static __device__ __forceinline__ persistent_words words_of(const double *c)
{
    return { { (unsigned)__double2loint(*c), (unsigned)__double2hiint(*c) } };
}
static __device__ __forceinline__ void cells_of(persistent_words w, float *c)
{
    c[0] = __uint_as_float(w.bits[0]);
    c[1] = __uint_as_float(w.bits[1]);
}
static __device__ __forceinline__ void cells_of(persistent_words w, double *c)
{
    *c = __hiloint2double((int)w.bits[1], (int)w.bits[0]);
}
