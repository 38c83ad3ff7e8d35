/* One linear update of a field: next = sum_k weight_k * cur[k] (+ beta * prev).
 *
 * The weights are stored in the order in which they are summed (docs/numerics.md, "Order of the sum": every
 * term one fma onto the running sum, the first a product), so that index and order are the same in every
 * kernel:
 *   LINE  2r+1: for k = r..1: x-k, x+k;            then the centre  (1D problems, the axes of `sweep`)
 *   STAR  4r+1: for k = r..1: x-k, x+k, y-k, y+k;  then the centre
 *   BOX  (2r+1)^2: dy ascending from -r, within a row dx ascending
 * and beta * prev last, if has_prev. Zero weights enter like any other.
 *
 * The weights of a SEPARABLE box are the product of a row and a column, those of a SEPARABLE_SUM the sum of
 * two such products. They are stored as factors, first the rows, then the columns:
 *   rows     product k = 0, 1: dx ascending from -r:      h_k(y') = sum of a_k(dx) cur(x+dx, y')
 *   columns  dy ascending from -r, within a dy k = 0, 1:  next = sum of b_k(dy) h_k(y+dy)
 * The first term of each sum is a product, every other one an fma onto it. Separable stencils have no
 * prev. */
#pragma once

#include <stdbool.h>

#include "core/dtype.h"

enum {
    STENCIL_RADIUS_MAX = 8,
    STENCIL_SEPARABLE_RADIUS_MAX = 4,
    STENCIL_WEIGHTS_MAX = 17 * 17,
    STENCIL_BOXES_MAX = 4
};

typedef enum stencil_form {
    STENCIL_LINE,
    STENCIL_STAR,
    STENCIL_BOX,
    STENCIL_SEPARABLE,
    STENCIL_SEPARABLE_SUM
} stencil_form;
enum { STENCIL_FORMS = STENCIL_SEPARABLE_SUM + 1, STENCIL_PRODUCTS_MAX = 2 };

/* nvcc also evaluates these functions at compile time. */
#if defined(__CUDACC__)
#define STENCIL_FORMULA static __host__ __device__ constexpr
#elif defined(__cplusplus)
#define STENCIL_FORMULA static constexpr
#else
#define STENCIL_FORMULA static inline
#endif

typedef struct stencil {
    stencil_form form;
    int radius; /* 1..STENCIL_RADIUS_MAX */
    dtype type;
    bool has_prev;
    double beta;                         /* exactly representable in `type`, like the weights */
    double weight[STENCIL_WEIGHTS_MAX];  /* already rounded to `type` */
} stencil;

static inline const char *stencil_form_name(stencil_form form)
{
    switch (form) {
    case STENCIL_LINE: return "line";
    case STENCIL_STAR: return "star";
    case STENCIL_BOX: return "box";
    case STENCIL_SEPARABLE: return "separable";
    case STENCIL_SEPARABLE_SUM: return "separable sum";
    }
    return "";
}

/* Number of row x column products that the form sums; 0: one weight per cell. */
STENCIL_FORMULA int stencil_products(stencil_form form)
{
    return form == STENCIL_SEPARABLE ? 1 : form == STENCIL_SEPARABLE_SUM ? 2 : 0;
}

/* Does the stencil read diagonal neighbours? */
STENCIL_FORMULA bool stencil_reads_corners(stencil_form form)
{
    return form == STENCIL_BOX || stencil_products(form) > 0;
}

STENCIL_FORMULA int stencil_radius_max(stencil_form form)
{
    return stencil_products(form) > 0 ? STENCIL_SEPARABLE_RADIUS_MAX : STENCIL_RADIUS_MAX;
}

/* Does the form have kernels that exchange inside (inkernel.h), on devices with such kernels? */
static inline bool stencil_exchanges_inside(stencil_form form)
{
    return form == STENCIL_STAR || form == STENCIL_BOX;
}

/* Indices of a_k(dx) and b_k(dy) in a form of `products` products. */
STENCIL_FORMULA int stencil_row_factor(int r, int k, int dx) { return k * (2 * r + 1) + dx + r; }
STENCIL_FORMULA int stencil_column_factor(int products, int r, int k, int dy)
{
    return products * (2 * r + 1) + (dy + r) * products + k;
}

static inline int stencil_weights(stencil_form form, int r)
{
    switch (form) {
    case STENCIL_LINE: return 2 * r + 1;
    case STENCIL_STAR: return 4 * r + 1;
    case STENCIL_BOX: return (2 * r + 1) * (2 * r + 1);
    case STENCIL_SEPARABLE:
    case STENCIL_SEPARABLE_SUM: return 2 * stencil_products(form) * (2 * r + 1);
    }
    return 0;
}

/* Index of the weight of cur(x+dx, y+dy); -1: the form has none. Factors belong to no cell. */
static inline int stencil_weight_index(stencil_form form, int r, int dx, int dy)
{
    const int along = dx + dy, k = along < 0 ? -along : along;
    if (dx < -r || dx > r || dy < -r || dy > r) return -1;
    switch (form) {
    case STENCIL_LINE:
        if (dy != 0) return -1;
        return dx == 0 ? 2 * r : 2 * (r - k) + (dx > 0);
    case STENCIL_STAR:
        if (dx != 0 && dy != 0) return -1;
        return k == 0 ? 4 * r : 4 * (r - k) + (dy != 0 ? 2 : 0) + (along > 0);
    case STENCIL_BOX:
        return (dy + r) * (2 * r + 1) + dx + r;
    case STENCIL_SEPARABLE:
    case STENCIL_SEPARABLE_SUM: break;
    }
    return -1;
}

/* The inverse, for a line, a star or a box: weight `at` belongs to cell (x + *dx, y + *dy). */
static inline void stencil_weight_place(stencil_form form, int r, int at, int *dx, int *dy)
{
    const int side = 2 * r + 1, arms = form == STENCIL_LINE ? 2 : 4, arm = at % arms, k = r - at / arms,
              step = arm % 2 ? k : -k;
    *dx = form == STENCIL_BOX ? at % side - r : arm < 2 ? step : 0;
    *dy = form == STENCIL_BOX ? at / side - r : arm < 2 ? 0 : step;
}
