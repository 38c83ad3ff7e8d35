/* weft's steps once more, in the plainest way: every cell by itself, each of its neighbours looked up by
 * index, fma of libm. Written from the definitions alone (docs/numerics.md), without a line of kernels/ or
 * miniapp/. Cells are doubles; those of an f32 field are rounded after every operation. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef enum plain_kind {
    PLAIN_HEAT, PLAIN_WAVE, PLAIN_ADVECT, PLAIN_LAPLACE, PLAIN_CUSTOM, PLAIN_SWEEP, PLAIN_TRANSPOSE,
    PLAIN_KINDS
} plain_kind;

typedef struct plain_side {
    char kind; /* p, d or n */
    double value;
} plain_side;

enum { PLAIN_RADIUS_MAX = 8, PLAIN_WIDTH_MAX = 2 * PLAIN_RADIUS_MAX + 1 };

typedef struct plain {
    plain_kind kind;
    bool f32, two_d;
    int nx, ny, radius;
    double alpha;
    double weight[PLAIN_WIDTH_MAX][PLAIN_WIDTH_MAX]; /* of custom, [dy + radius][dx + radius]; in 1D only
                                                      * row `radius` */
    plain_side x_low, x_high, y_low, y_high;
} plain;

/* ---- arithmetic of the type ---- */

static inline double plain_round(const plain *p, _Float128 x)
{
    return p->f32 ? (double)(float)x : (double)x;
}
static inline double plain_fma(const plain *p, double a, double b, double c)
{
    return p->f32 ? (double)fmaf((float)a, (float)b, (float)c) : fma(a, b, c);
}
static inline double plain_product(const plain *p, double a, double b)
{
    return p->f32 ? (double)((float)a * (float)b) : a * b;
}
static inline double plain_sum(const plain *p, double a, double b)
{
    return p->f32 ? (double)((float)a + (float)b) : a + b;
}

/* ---- cells, also those outside ---- */

static inline double plain_mirrored(const plain *p, double v, double u)
{
    return plain_sum(p, plain_sum(p, v, v), -u);
}

static inline double plain_cell(const plain *p, const double *u, int x, int y)
{
    if (y < 0 || y >= p->ny) { /* corners: x first, then y, so y is resolved first */
        const plain_side *s = y < 0 ? &p->y_low : &p->y_high;
        const int k = y < 0 ? -1 - y : y - p->ny; /* 0: the node just outside */
        const double v = plain_round(p, s->value);
        if (s->kind == 'p') return plain_cell(p, u, x, y < 0 ? y + p->ny : y - p->ny);
        if (s->kind == 'n') return plain_cell(p, u, x, y < 0 ? k : p->ny - 1 - k);
        return k == 0 ? v : plain_mirrored(p, v, plain_cell(p, u, x, y < 0 ? k - 1 : p->ny - k));
    }
    if (x < 0 || x >= p->nx) {
        const plain_side *s = x < 0 ? &p->x_low : &p->x_high;
        const int k = x < 0 ? -1 - x : x - p->nx;
        const double v = plain_round(p, s->value);
        if (s->kind == 'p') return plain_cell(p, u, x < 0 ? x + p->nx : x - p->nx, y);
        if (s->kind == 'n') return plain_cell(p, u, x < 0 ? k : p->nx - 1 - k, y);
        return k == 0 ? v : plain_mirrored(p, v, plain_cell(p, u, x < 0 ? k - 1 : p->nx - k, y));
    }
    return u[y * p->nx + x];
}

/* ---- coefficients ---- */

/* All are fractions over (2r)!, as r!^2 / ((r-k)! (r+k)!) = r!^2 C(2r, r-k) / (2r)!: integers of less than 48
 * bits. With an alpha above 2^-10 the numerators below are exact in 113 bits, and no quotient that is not the
 * middle of two doubles is so near to it that 113 bits could not tell. */
static inline int64_t plain_factorial(int n) { return n < 2 ? 1 : n * plain_factorial(n - 1); }

static inline int64_t plain_over(int r, int k) /* of w_k; of w_0 = -2 sum w_k */
{
    int64_t sum = 0, ways = 1; /* C(2r, r-k) */
    for (int j = 1; k == 0 && j <= r; j++) sum -= 2 * plain_over(r, j);
    if (k == 0) return sum;
    for (int i = 1; i <= r - k; i++) ways = ways * (2 * r - i + 1) / i;
    const int64_t f = plain_factorial(r) / k;
    return (k % 2 ? 2 : -2) * f * f * ways;
}

/* base + alpha times that many w_k; c_k is k/2 of w_k. */
static inline _Float128 plain_coefficient(const plain *p, int base, int times, int k)
{
    const int64_t under = plain_factorial(2 * p->radius);
    return ((_Float128)base * under + (_Float128)p->alpha * times * plain_over(p->radius, k)) / under;
}

/* The weight `offset` cells along each axis, and in the middle, of the kinds without weights of their own. */
static inline double plain_star_weight(const plain *p, int offset)
{
    const int k = offset < 0 ? -offset : offset, axes = p->two_d && p->kind != PLAIN_SWEEP ? 2 : 1;
    switch (p->kind) {
    case PLAIN_HEAT:
    case PLAIN_SWEEP:
        return plain_round(p, k > 0 ? plain_coefficient(p, 0, 1, k) : plain_coefficient(p, 1, axes, 0));
    case PLAIN_WAVE:
        return plain_round(p, k > 0 ? plain_coefficient(p, 0, 1, k) : plain_coefficient(p, 2, axes, 0));
    case PLAIN_ADVECT: return k > 0 ? plain_round(p, plain_coefficient(p, 0, offset < 0 ? k : -k, k)) : 0.0;
    case PLAIN_LAPLACE: return k > 0 ? 0.5 / axes : 0.0;
    case PLAIN_CUSTOM:
    case PLAIN_TRANSPOSE:
    case PLAIN_KINDS: break;
    }
    return 0.0;
}

/* All weights of the kind, in the type. */
static inline plain plain_with_weights(const plain *given)
{
    plain p = *given;
    const int r = p.radius;
    for (int k = -r; k <= r && p.kind != PLAIN_CUSTOM; k++)
        p.weight[r][r + k] = p.weight[r + k][r] = plain_star_weight(given, k);
    for (int i = 0; i < PLAIN_WIDTH_MAX * PLAIN_WIDTH_MAX; i++)
        p.weight[i / PLAIN_WIDTH_MAX][i % PLAIN_WIDTH_MAX] =
            plain_round(given, p.weight[i / PLAIN_WIDTH_MAX][i % PLAIN_WIDTH_MAX]);
    return p;
}

/* ---- one cell ---- */

typedef struct plain_chain { /* the first term is a product, every other one an fma onto the sum */
    bool begun;
    double sum;
} plain_chain;

static inline void plain_add(const plain *p, plain_chain *c, double w, double u)
{
    c->sum = c->begun ? plain_fma(p, w, u, c->sum) : plain_product(p, w, u);
    c->begun = true;
}

static inline double plain_star(const plain *p, const double *u, int x, int y, bool along_x, bool along_y)
{
    const int r = p->radius;
    plain_chain c = { false, 0.0 };
    for (int k = r; k >= 1; k--) {
        if (along_x) plain_add(p, &c, p->weight[r][r - k], plain_cell(p, u, x - k, y));
        if (along_x) plain_add(p, &c, p->weight[r][r + k], plain_cell(p, u, x + k, y));
        if (along_y) plain_add(p, &c, p->weight[r - k][r], plain_cell(p, u, x, y - k));
        if (along_y) plain_add(p, &c, p->weight[r + k][r], plain_cell(p, u, x, y + k));
    }
    plain_add(p, &c, p->weight[r][r], plain_cell(p, u, x, y));
    return c.sum;
}

static inline double plain_box(const plain *p, const double *u, int x, int y)
{
    const int r = p->radius;
    plain_chain c = { false, 0.0 };
    for (int dy = -r; dy <= r; dy++)
        for (int dx = -r; dx <= r; dx++)
            plain_add(p, &c, p->weight[r + dy][r + dx], plain_cell(p, u, x + dx, y + dy));
    return c.sum;
}

static inline bool plain_is_box(const plain *p)
{
    bool is_box = false;
    for (int dy = -p->radius; dy <= p->radius; dy++)
        for (int dx = -p->radius; dx <= p->radius; dx++)
            is_box = is_box || (dx != 0 && dy != 0 && p->weight[p->radius + dy][p->radius + dx] != 0.0);
    return p->kind == PLAIN_CUSTOM && p->two_d && is_box;
}

/* ---- steps: ny * nx cells each ---- */

/* next from u and, for wave and advect, prev; `between` is for the first half of a sweep. */
static inline void plain_step(const plain *given, double *next, const double *u, const double *prev,
                              double *between)
{
    const plain with_weights = plain_with_weights(given), *p = &with_weights;
    const bool is_box = plain_is_box(p), two_levels = p->kind == PLAIN_WAVE || p->kind == PLAIN_ADVECT;
    const double beta = p->kind == PLAIN_WAVE ? -1.0 : 1.0;
    if (p->kind == PLAIN_SWEEP) {
        for (int y = 0; y < p->ny; y++)
            for (int x = 0; x < p->nx; x++) between[y * p->nx + x] = plain_star(p, u, x, y, true, false);
        for (int y = 0; y < p->ny; y++)
            for (int x = 0; x < p->nx; x++) next[y * p->nx + x] = plain_star(p, between, x, y, false, true);
        return;
    }
    for (int y = 0; y < p->ny; y++)
        for (int x = 0; x < p->nx; x++) {
            const int i = y * p->nx + x;
            next[i] = is_box ? plain_box(p, u, x, y) : plain_star(p, u, x, y, true, p->two_d);
            if (two_levels) next[i] = plain_fma(p, beta, prev[i], next[i]);
        }
}

/* B += A^T, then A += 1; B has nx rows of ny cells. */
static inline void plain_transpose(const plain *p, double *b, double *a)
{
    for (int y = 0; y < p->ny; y++)
        for (int x = 0; x < p->nx; x++) b[x * p->ny + y] = plain_sum(p, b[x * p->ny + y], a[y * p->nx + x]);
    for (int i = 0; i < p->nx * p->ny; i++) a[i] = plain_sum(p, a[i], 1.0);
}

/* ---- the fingerprint ---- */

static inline uint64_t plain_mix(uint64_t k)
{
    k = (k ^ (k >> 33)) * 0xff51afd7ed558ccdull;
    k = (k ^ (k >> 33)) * 0xc4ceb9fe1a85ec53ull;
    return k ^ (k >> 33);
}

static inline uint64_t plain_bits(const plain *p, double cell)
{
    uint64_t bits = 0;
    const float narrow = (float)cell;
    if (isnan(cell)) return 0x7ff8000000000000ull;
    if (p->f32) {
        uint32_t half;
        memcpy(&half, &narrow, sizeof half);
        bits = half;
    } else {
        memcpy(&bits, &cell, sizeof bits);
    }
    return bits;
}

static inline uint64_t plain_fingerprint(const plain *p, const double *u)
{
    uint64_t sum = 0;
    for (int i = 0; i < p->nx * p->ny; i++)
        sum += plain_mix(plain_bits(p, u[i]) + ((uint64_t)i + 1) * 0x9E3779B97F4A7C15ull);
    return sum;
}
