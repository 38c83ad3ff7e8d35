/* One linear update of a field: next = sum_k weight_k * cur[k] (+ beta * prev).
 *
 * The weights are stored in the order in which they are summed (docs/numerics.md, "Order of the sum": every
 * term one fma onto the running sum, the first a product), so that index and order are the same in every
 * kernel:
 *   LINE  2r+1: for k = r..1: x-k, x+k;            then the centre  (1D problems, the axes of `sweep`)
 *   STAR  4r+1: for k = r..1: x-k, x+k, y-k, y+k;  then the centre
 *   BOX  (2r+1)^2: dy ascending from -r, within a row dx ascending
 * and beta * prev last, if has_prev. Zero weights enter like any other.
 */
#pragma once

#include <stdbool.h>

#include "core/dtype.h"

enum { STENCIL_RADIUS_MAX = 8, STENCIL_WEIGHTS_MAX = 17 * 17, STENCIL_BOXES_MAX = 4 };

typedef enum stencil_form { STENCIL_LINE, STENCIL_STAR, STENCIL_BOX } stencil_form;
enum { STENCIL_FORMS = STENCIL_BOX + 1 };

typedef struct stencil {
    stencil_form form;
    int radius; /* 1..STENCIL_RADIUS_MAX */
    dtype type;
    bool has_prev;
    double beta;                        /* exactly representable in `type`, like the weights */
    double weight[STENCIL_WEIGHTS_MAX]; /* already rounded to `type` */
} stencil;

static inline const char *stencil_form_name(stencil_form form)
{
    switch (form) {
    case STENCIL_LINE: return "line";
    case STENCIL_STAR: return "star";
    case STENCIL_BOX: return "box";
    }
    return "";
}

static inline int stencil_weights(stencil_form form, int r)
{
    switch (form) {
    case STENCIL_LINE: return 2 * r + 1;
    case STENCIL_STAR: return 4 * r + 1;
    case STENCIL_BOX: return (2 * r + 1) * (2 * r + 1);
    }
    return 0;
}

/* Weight `at` belongs to cell (x + *dx, y + *dy). */
static inline void stencil_weight_place(stencil_form form, int r, int at, int *dx, int *dy)
{
    const int side = 2 * r + 1, arms = form == STENCIL_LINE ? 2 : 4, arm = at % arms, k = r - at / arms,
              step = arm % 2 ? k : -k;
    *dx = form == STENCIL_BOX ? at % side - r : arm < 2 ? step : 0;
    *dy = form == STENCIL_BOX ? at / side - r : arm < 2 ? 0 : step;
}

/* The inverse: the weight of cur(x+dx, y+dy); -1: the form has none. By search, for set-up. */
static inline int stencil_weight_index(stencil_form form, int r, int dx, int dy)
{
    for (int at = stencil_weights(form, r) - 1; at >= 0; at--) {
        int x, y;
        stencil_weight_place(form, r, at, &x, &y);
        if (x == dx && y == dy) return at;
    }
    return -1;
}
