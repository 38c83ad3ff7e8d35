/* The stencil's problem, the same on every device: one sweep of a symmetric stencil of radius 4, nine points
 * along a line or seventeen in a plane, over random data, ghosts included. The sum has weft's fixed order, so
 * that every rung must give the bits of the host device's own sweep. */
#pragma once

#include "ladder_compute/ladder_field.h"

LINKAGE_C_BEGIN

enum { LADDER_STENCIL_N, LADDER_STENCIL_NX, LADDER_STENCIL_NY, LADDER_STENCIL_PARAMETERS };
enum { LADDER_STENCIL_RADIUS = 4, LADDER_STENCIL_LINE_POINTS = 9, LADDER_STENCIL_PLANE_POINTS = 17 };

/* A rung's `ignores`: what the other form takes. */
#define LADDER_STENCIL_LINE_IGNORES (1u << LADDER_STENCIL_NX | 1u << LADDER_STENCIL_NY)
#define LADDER_STENCIL_PLANE_IGNORES (1u << LADDER_STENCIL_N)

/* The state is a ladder_field. */
int ladder_stencil_prepare_line(ladder_case *c);
int ladder_stencil_prepare_plane(ladder_case *c);

LINKAGE_C_END
