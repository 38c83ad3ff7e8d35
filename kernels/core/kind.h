/* The kinds of problem, a row each: everything that depends on the kind asks its row. Formulas:
 * docs/numerics.md. */
#pragma once

#include <stdbool.h>

typedef enum kind_id {
    KIND_HEAT,
    KIND_WAVE,
    KIND_ADVECT,
    KIND_LAPLACE,
    KIND_CUSTOM,
    KIND_TRANSPOSE,
    KIND_SWEEP,
    KIND_SEPARABLE
} kind_id;
enum { KIND_ROWS = KIND_SEPARABLE + 1, KIND_FIELDS_MAX = 2, KIND_ORDERS = 8 };

typedef enum kind_stencil {
    KIND_STENCIL_NONE,        /* cells change without their neighbours: no sides, no modes */
    KIND_STENCIL_DIFFERENCES, /* differences of problem.order times problem.alpha; radius order / 2 */
    KIND_STENCIL_MEAN,        /* the mean of the nearest neighbours; radius 1 */
    KIND_STENCIL_WEIGHTS,     /* problem.weights, which give the radius */
    KIND_STENCIL_FACTORS,     /* problem.factors, likewise: 2D grids alone */
} kind_stencil;

typedef enum kind_alpha {
    KIND_ALPHA_NONE,
    KIND_ALPHA_FROM_0,
    KIND_ALPHA_ABOVE_0,
    KIND_ALPHA_EITHER_SIGN
} kind_alpha;

/* How a mode goes on from level to level. */
typedef enum kind_modes {
    KIND_MODES_NONE,
    KIND_MODES_POWER,    /* g^n, g the stencil's Fourier symbol */
    KIND_MODES_COSINE,   /* cos(n w), 2 cos w the symbol */
    KIND_MODES_ROTATION, /* e^(-i n p), -2 i sin p the symbol; on periodic axes alone */
} kind_modes;

typedef struct kind_row {
    const char *name;    /* in decks, records and state files */
    kind_stencil stencil;
    kind_modes modes;
    bool two_levels;     /* a step reads the level before the present one too */
    bool odd;            /* first differences: both sides of an axis are of one kind, and alpha has either
                          * sign */
    bool by_lines;       /* each axis by itself, the second one on the transposed field: 2D grids alone */
    bool to_tolerance;   /* may end at time.tolerance */
    int transposes;      /* distributed ones per step, and transposed fields */
    int words;           /* per cell: what a step reads and writes at least */
    kind_alpha alpha;    /* what is allowed up to the limit; an open end where it does not include 0 */
    const double *alpha_limit[2]; /* of 1D and 2D, by order; NULL: none */
    double v_sum[2];     /* what a sum of a dirichlet side's V alone may reach, in V, for radius 1 and
                          * above; weights: by them */
    const char *field[KIND_FIELDS_MAX]; /* of a state file, main_field the one that pictures show; NULL: no
                                         * second one */
    int main_field;
} kind_row;

const kind_row *kind_of(kind_id id);
/* The von Neumann limit on |alpha|, rounded down; 0: the kind has none. order: 2, 4 .. 16. */
double kind_alpha_limit(kind_id id, int order, bool two_d);
const char *kind_name(kind_id id);
extern const char *const kind_names[KIND_ROWS + 1]; /* NULL at the end */
/* NULL: no such name. */
const kind_row *kind_find(const char *name);
static inline int kind_fields(const kind_row *k) { return k->field[1] ? 2 : 1; }
