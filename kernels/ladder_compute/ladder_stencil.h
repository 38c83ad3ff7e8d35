/* The stencil's problem, the same on every device: one sweep of a symmetric stencil of radius 4, nine points along a line or
 * seventeen in a plane, over random data, ghosts included. The sum has weft's fixed order, so that every rung must give the
 * bits of the host device's own sweep. */
#ifndef LADDER_STENCIL_H
#define LADDER_STENCIL_H

#include "ladder/ladder.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { LADDER_STENCIL_N, LADDER_STENCIL_NX, LADDER_STENCIL_NY, LADDER_STENCIL_PARAMETERS };
enum { LADDER_STENCIL_RADIUS = 4, LADDER_STENCIL_LINE_POINTS = 9, LADDER_STENCIL_PLANE_POINTS = 17 };

typedef struct ladder_stencil {
    field_shape shape;
    stencil op;
    void *cur, *next; /* allocations */
} ladder_stencil;

/* A rung's `ignores`: what the other form takes. */
#define LADDER_STENCIL_LINE_IGNORES (1u << LADDER_STENCIL_NX | 1u << LADDER_STENCIL_NY)
#define LADDER_STENCIL_PLANE_IGNORES (1u << LADDER_STENCIL_N)

/* work: cur read once, next written once; flops: one product, and two for each fma after it */
int ladder_stencil_prepare_line(ladder_case *c);
int ladder_stencil_prepare_plane(ladder_case *c);
int ladder_stencil_verify(ladder_case *c, ladder_verdict *v);
void ladder_stencil_destroy(ladder_case *c);
int ladder_stencil_production(ladder_case *c); /* enqueue: the device's own sweep */

#ifdef __cplusplus
}
#endif

#endif
