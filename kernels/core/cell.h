/* The formulas of one cell, compiled by the C compiler and by nvcc without contraction: each fma in the
 * source is one fma and nothing else is fused, so that host and CUDA give the same bits. Sources:
 * docs/numerics.md, "Boundaries", "Initial values", "Fingerprint"; MurmurHash3's 64-bit finaliser (A.
 * Appleby, public domain). */
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/dtype.h"
#include "core/linkage.h"
#include "core/value.h"

LINKAGE_BOTH float cell_fma_f32(float a, float b, float c) { return fmaf(a, b, c); }
LINKAGE_BOTH double cell_fma_f64(double a, double b, double c) { return fma(a, b, c); }

/* The mirrored ghost of a dirichlet side: V + V - u. */
LINKAGE_BOTH float cell_mirror_f32(float v, float u) { return (v + v) - u; }
LINKAGE_BOTH double cell_mirror_f64(double v, double u) { return (v + v) - u; }

/* Cell i of an array of either type, as a double. */
LINKAGE_BOTH double cell_get(dtype t, const void *cells, int64_t i)
{
    return t == DTYPE_F32 ? (double)((const float *)cells)[i] : ((const double *)cells)[i];
}
LINKAGE_BOTH void cell_set(dtype t, void *cells, int64_t i, double u)
{
    if (t == DTYPE_F32) ((float *)cells)[i] = (float)u;
    else ((double *)cells)[i] = u;
}
LINKAGE_BOTH double cell_mirror(dtype t, double v, double u)
{
    return t == DTYPE_F32 ? (double)cell_mirror_f32((float)v, (float)u) : cell_mirror_f64(v, u);
}

LINKAGE_BOTH uint64_t cell_fmix64(uint64_t k)
{
    k ^= k >> 33;
    k *= 0xff51afd7ed558ccdull;
    k ^= k >> 33;
    k *= 0xc4ceb9fe1a85ec53ull;
    return k ^ (k >> 33);
}

/* The IEEE pattern, zero-extended. Every NaN becomes the one quiet NaN: fingerprints ignore NaN payloads. */
LINKAGE_BOTH uint64_t cell_bits_f32(float u)
{
    uint32_t b;
    if (u != u) return 0x7ff8000000000000ull;
    memcpy(&b, &u, sizeof b);
    return b;
}

LINKAGE_BOTH uint64_t cell_bits_f64(double u)
{
    uint64_t b;
    if (u != u) return 0x7ff8000000000000ull;
    memcpy(&b, &u, sizeof b);
    return b;
}

/* A cell's contribution to the fingerprint; `linear` is its row-major index in the field's global shape. */
LINKAGE_BOTH uint64_t cell_fingerprint(uint64_t bits, uint64_t linear)
{
    return cell_fmix64(bits + (linear + 1) * 0x9E3779B97F4A7C15ull);
}

/* |d| as an unsigned pattern that orders like |d|, with NaN above infinity: a maximum of patterns never loses
 * a NaN. Every NaN becomes the one quiet NaN, because NaN payloads differ between processors. */
LINKAGE_BOTH uint64_t cell_abs_bits(double d)
{
    uint64_t b;
    if (d != d) return 0x7ff8000000000000ull;
    memcpy(&b, &d, sizeof b);
    return b & 0x7fffffffffffffffull;
}

LINKAGE_BOTH double cell_random(uint64_t seed, uint64_t linear)
{
    const uint64_t h =
        cell_fmix64(cell_fmix64(seed + 0x9E3779B97F4A7C15ull) + (linear + 1) * 0x9E3779B97F4A7C15ull);
    return (double)(h >> 11) * 0x1p-52 - 1.0; /* exact: 53 bits */
}

LINKAGE_BOTH int cell_count_index(uint64_t linear) { return (int)(cell_fmix64(linear + 1) & 1023u); }

LINKAGE_BOTH void cell_axis(const value_axis *a, int64_t i, double *re, double *im)
{
    const int64_t h = 2 * ((i >> a->bits) - a->hi_first), l = 2 * (i & (((int64_t)1 << a->bits) - 1));
    const double hr = a->hi[h], hi = a->hi[h + 1], lr = a->lo[l], li = a->lo[l + 1];
    const double r = fma(hr, lr, -(hi * li)), m = fma(hr, li, hi * lr);
    *re = a->part == VALUE_IMAGINARY_PART ? m : r;
    *im = a->part == VALUE_COMPLEX ? m : 0.0;
}

/* The value at own cell (x, y). */
LINKAGE_BOTH double cell_value(const value *v, int64_t x, int64_t y)
{
    const int64_t gx = v->x_first + x, gy = v->y_first + y;
    const uint64_t linear = v->transposed ? (uint64_t)gx * (uint64_t)v->ny_global + (uint64_t)gy
                                          : (uint64_t)gy * (uint64_t)v->nx_global + (uint64_t)gx;
    if (v->kind == VALUE_RANDOM) return cell_random(v->seed, linear);
    if (v->kind == VALUE_COUNT) return v->table[cell_count_index(linear)];
    double xr, xi, yr, yi;
    cell_axis(&v->x, gx, &xr, &xi);
    cell_axis(&v->y, gy, &yr, &yi);
    const double r = fma(xr, yr, -(xi * yi)), m = fma(xr, yi, xi * yr);
    return v->shift + fma(v->factor_re, r, -(v->factor_im * m));
}
