/* Fields of random cells, ghosts included, and what one pass of a stencil makes of them: shared by stencil,
 * fused and roofline. */
#pragma once

#include "ladder/ladder.h"

LINKAGE_C_BEGIN

/* Seeds: of the level that a pass reads, and of the one before. A cell's number follows from its row-major
 * index in the field with its ghosts. */
enum { LADDER_FIELD_CUR = LADDER_SEED, LADDER_FIELD_PREV = 22 };

typedef struct ladder_field {
    field_shape shape;
    stencil op;
    void *prev; /* the level before; NULL where a pass reads one level */
} ladder_field;

/* Random cells of that seed, or poisoned ones where it is 0. */
int ladder_field_alloc(ladder_case *c, const field_shape *f, uint64_t seed, void **out);
int64_t ladder_field_index(const field_shape *f, int64_t x, int64_t y);

/* A pass as a rung, whose state is, or begins with, a ladder_field that has its shape: from c->in, and prev,
 * to c->out. work: the words of the levels that are read, and of the one written; flops: one product, and two
 * for each fma after it. */
int ladder_field_prepare(ladder_case *c, stencil_form form, int radius, bool has_prev);
int ladder_field_pass(ladder_case *c); /* enqueue: the device's own */
/* All of c->out against the host device's pass, ghosts and slack poisoned as they were. */
int ladder_field_verify(ladder_case *c, ladder_verdict *v);

/* ---- several time steps of a star of radius 1 over a plane ---- */

typedef struct ladder_steps {
    field_shape shape;
    stencil op;
    boundary sides;
    int steps;
    void *between; /* of fused: the steps between the first and the last go to it and to c->out in turn */
} ladder_steps;

/* All but the shape, of which `cells` are own ones. work: words_moved for each of them. */
void ladder_steps_open(ladder_case *c, ladder_steps *s, int steps, boundary sides, int64_t cells,
                       double words_moved);
/* Random own cells. */
int ladder_steps_fill(device *d, const ladder_steps *of, void *field, device_stream *s);
/* All ghosts that are at most `depth` cells away. */
int ladder_steps_ghosts(device *d, const ladder_steps *of, void *field, int64_t depth, device_stream *s);
/* The own cells of `seen`, in the host's memory, against as many single sweeps. */
void ladder_steps_compare(const ladder_steps *of, const void *seen, ladder_verdict *v);

/* ---- fused, the same on every device ----
 * `steps` sweeps in a periodic plane, from c->in, which stays as it is but for its ghosts, to c->out. A
 * repetition starts with the fill of the ghosts, as a program's step does. */

enum { LADDER_FUSED_NX, LADDER_FUSED_NY, LADDER_FUSED_STEPS, LADDER_FUSED_PARAMETERS };
enum { LADDER_FUSED_STEPS_MAX = 12 };

/* The state is a ladder_steps, with ghosts `steps` deep. work: what single sweeps move, one word that each
 * step reads and one that it writes: fusing passes that ceiling */
int ladder_fused_prepare(ladder_case *c);
int ladder_fused_verify(ladder_case *c, ladder_verdict *v);
/* enqueue: one sweep after the other; the device's own fused sweeps */
int ladder_fused_singly(ladder_case *c);
int ladder_fused_production(ladder_case *c);

LINKAGE_C_END
