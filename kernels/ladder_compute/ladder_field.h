/* Fields of random cells, and what one pass of a stencil, or several time steps, make of them: shared by
 * stencil, fused, roofline and streaming. */
#pragma once

#include "ladder/ladder.h"

LINKAGE_C_BEGIN

static inline box ladder_field_all(const field_shape *f)
{
    return box_make(-f->depth_x, f->nx + f->depth_x, -f->depth_y, f->ny + f->depth_y);
}
/* The random cells of the level that a pass reads, and of the one before, begin with these numbers; others
 * follow in the row-major order of the field with its ghosts. */
enum { LADDER_FIELD_POISONED = -1, LADDER_FIELD_CUR = 0, LADDER_FIELD_PREV = 1 << 30 };

typedef struct ladder_field {
    field_shape shape;
    stencil op;
    void *prev; /* the level before; NULL where a pass reads one level */
    int steps;  /* 0: one pass, whose ghosts are random cells, too; else all steps, between these sides */
    boundary sides;
    void *between; /* of fused: the steps between the first and the last go to it and to c->out in turn */
} ladder_field;

/* Random cells from that number on, or poisoned ones. */
int ladder_field_alloc(ladder_case *c, const field_shape *f, int first, void **out);

/* A pass as a rung, whose state is a ladder_field: from c->in, and prev, to c->out. work: the words of the
 * levels that are read, and of the one written; flops: one product, and two for each fma after it. */
int ladder_field_prepare(ladder_case *c, field_shape shape, stencil_form form, int radius, bool has_prev);
int ladder_field_pass(ladder_case *c); /* enqueue: the device's own */

/* Time steps of a star of radius 1, from the random own cells of c->in to c->out. The state is, or begins
 * with, a ladder_field, and ghosts are `steps` deep, unless a plane is streamed: then it lies in pinned
 * memory, with ghosts as deep as the longest pass reads. work: a word read and one written for each cell, by
 * each step (fusing passes that ceiling) or, streamed, in all. */
enum { LADDER_STEPS_NX, LADDER_STEPS_NY, LADDER_STEPS, LADDER_STEPS_PARAMETERS };
int ladder_steps_prepare(ladder_case *c, boundary sides, bool streamed);
/* All ghosts that are at most `depth` cells away. */
int ladder_steps_ghosts(device *d, const ladder_field *s, void *field, int64_t depth, device_stream *stream);

/* c->out against the plain sum of each cell, of one pass or of all steps; of a pass all of it, ghosts and
 * slack poisoned as they were, so that a cell written beside the box shows as well. */
int ladder_field_verify(ladder_case *c, ladder_verdict *v);

/* ---- fused, the same on every device ----
 * `steps` sweeps in a periodic plane, from c->in, which stays as it is but for its ghosts, to c->out. A
 * repetition starts with the fill of the ghosts, as a program's step does. */

enum { LADDER_FUSED_STEPS_MAX = 12 };

int ladder_fused_prepare(ladder_case *c);
/* enqueue: one sweep after the other; the device's own fused sweeps */
int ladder_fused_singly(ladder_case *c);
int ladder_fused_production(ladder_case *c);

LINKAGE_C_END
