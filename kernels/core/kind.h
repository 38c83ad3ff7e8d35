/* The kinds of problem, one row each: code that depends on the kind reads its row (docs/numerics.md). */
#pragma once

#include <stdbool.h>

typedef enum kind_id {
    KIND_HEAT,
    KIND_WAVE,
    KIND_ADVECT,
    KIND_LAPLACE,
    KIND_CUSTOM,
    KIND_TRANSPOSE,
    KIND_SWEEP
} kind_id;
enum { KIND_ROWS = KIND_SWEEP + 1, KIND_FIELDS_MAX = 2, KIND_ORDERS = 8 };

typedef enum kind_stencil {
    KIND_STENCIL_NONE,        /* no cell reads its neighbours: no sides, no modes */
    KIND_STENCIL_DIFFERENCES, /* differences of problem.order times problem.alpha; radius order / 2 */
    KIND_STENCIL_MEAN,        /* the mean of the nearest neighbours; radius 1 */
    KIND_STENCIL_WEIGHTS,     /* problem.weights, which give the radius */
} kind_stencil;

typedef enum kind_alpha {
    KIND_ALPHA_NONE,
    KIND_ALPHA_FROM_0,
    KIND_ALPHA_ABOVE_0,
    KIND_ALPHA_EITHER_SIGN
} kind_alpha;

/* How a mode changes from level to level. */
typedef enum kind_modes {
    KIND_MODES_NONE,
    KIND_MODES_POWER,    /* g^n, g the stencil's Fourier symbol */
    KIND_MODES_COSINE,   /* cos(n w), 2 cos w the symbol */
    KIND_MODES_ROTATION, /* e^(-i n p), -2 i sin p the symbol; only on periodic axes */
} kind_modes;

typedef struct kind_row {
    kind_stencil stencil;
    kind_modes modes;
    bool two_levels;     /* a step also reads the level before the current one */
    bool odd;            /* first differences: both sides of an axis are of one kind, and alpha has any
                          * sign */
    bool by_lines;       /* each axis by itself, the second on the transposed field; only on 2D grids */
    bool to_tolerance;   /* may end at time.tolerance */
    int transposes;      /* distributed transposes per step; 0: no field is transposed */
    int words;           /* read and written per cell and step, at least */
    kind_alpha alpha;    /* the range up to the limit; it is open at 0 if it does not include 0 */
    const double *alpha_limit[2]; /* of 1D and 2D grids, by order; NULL: none */
    const char *field[KIND_FIELDS_MAX]; /* of a state file; pictures show main_field; NULL: no second one */
    int main_field;
} kind_row;

const kind_row *kind_of(kind_id id);
/* The von Neumann limit on |alpha|, rounded down; 0: the kind has none. order: 2, 4 .. 16. */
double kind_alpha_limit(kind_id id, int order, bool two_d);
const char *kind_name(kind_id id);
extern const char *const kind_names[KIND_ROWS + 1]; /* in decks, records and state files; NULL at the end */
static inline int kind_fields(const kind_row *k) { return k->field[1] ? 2 : 1; }
