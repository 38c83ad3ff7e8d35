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

/* Accesses past the L1 caches, which are not coherent with each other. */
static __device__ __forceinline__ void give_piece(float *to, const float (&c)[2])
{
    __stcg((float2 *)to, make_float2(c[0], c[1]));
}
static __device__ __forceinline__ void give_piece(float *to, const float (&c)[4])
{
    __stcg((float4 *)to, pack16(c));
}
static __device__ __forceinline__ void give_piece(double *to, const double (&c)[2])
{
    __stcg((double2 *)to, pack16(c));
}
static __device__ __forceinline__ void take_piece(const float *from, float (&c)[2])
{
    const float2 all = __ldcg((const float2 *)from);
    c[0] = all.x, c[1] = all.y;
}
static __device__ __forceinline__ void take_piece(const float *from, float (&c)[4])
{
    unpack16(__ldcg((const float4 *)from), c);
}
static __device__ __forceinline__ void take_piece(const double *from, double (&c)[2])
{
    unpack16(__ldcg((const double2 *)from), c);
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
