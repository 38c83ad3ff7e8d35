/* For tests of several steps at once: the problem, and copies between a domain and a rank's part of it. */
#pragma once

#include "support/sanitized.h"
#include "support/twin.h"

/* Kinds of sides, low and high of an axis, that single steps and several at once must agree on. */
static const boundary_kind side_pairs[][2] = {
    { BOUNDARY_PERIODIC, BOUNDARY_PERIODIC }, { BOUNDARY_DIRICHLET, BOUNDARY_DIRICHLET },
    { BOUNDARY_NEUMANN, BOUNDARY_NEUMANN },   { BOUNDARY_DIRICHLET, BOUNDARY_NEUMANN },
    { BOUNDARY_NEUMANN, BOUNDARY_DIRICHLET },
};
enum { SIDE_PAIRS = sizeof side_pairs / sizeof *side_pairs };

/* Pairs along x and y, each side with a value of its own. */
static inline boundary side_pairs_of(int along_x, int along_y)
{
    const boundary b = { { side_pairs[along_x][0], 0.3 }, { side_pairs[along_x][1], -0.7 },
                         { side_pairs[along_y][0], 1.1 }, { side_pairs[along_y][1], 0.0 } };
    return b;
}

typedef struct problem {
    stencil op;
    boundary sides;
    int64_t nx, ny;
    int steps;
} problem;

static inline const char *problem_text(const problem *p)
{
    static char text[200];
    snprintf(text, sizeof text, "%s r=%d %s, %d levels, %d steps, %lldx%lld, sides %d%d %d%d",
             stencil_form_name(p->op.form), p->op.radius, dtype_name(p->op.type), p->op.has_prev ? 2 : 1,
             p->steps, (long long)p->nx, (long long)p->ny, (int)p->sides.x_low.kind,
             (int)p->sides.x_high.kind, (int)p->sides.y_low.kind, (int)p->sides.y_high.kind);
    return text;
}

/* A random field of the device that answers. */
static inline void *field_create(const field_shape *f)
{
    void *data;
    DO(ANSWER, alloc, DEVICE_MEMORY_DEVICE, f->bytes, &data);
    fill_random(f->type, data, f->bytes);
    return data;
}

/* Copies `cells` of a field whose cell (0, 0) is cell (x0, y0) of the other. */
static inline void copy_cells(const field_shape *f, void *to, box cells, const field_shape *from_shape,
                              const void *from, int64_t x0, int64_t y0)
{
    for (int64_t y = cells.y0; y < cells.y1; y++)
        memcpy(field_at(f, to, cells.x0, y), field_at_const(from_shape, from, x0 + cells.x0, y0 + y),
               (size_t)box_width(cells) * dtype_bytes(f->type));
}
