/* For tests of several steps at once: the problem, and copies between a domain and a rank's part of it. */
#pragma once

#include "support/sanitized.h"
#include "support/side_pairs.h"
#include "support/twin.h"

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

/* Copies `cells` of a field whose cell (0, 0) is cell (x0, y0) of the other. */
static inline void copy_cells(const field_shape *f, void *to, box cells, const field_shape *from_shape,
                              const void *from, int64_t x0, int64_t y0)
{
    for (int64_t y = cells.y0; y < cells.y1; y++)
        memcpy(field_at(f, to, cells.x0, y), field_at_const(from_shape, from, x0 + cells.x0, y0 + y),
               (size_t)box_width(cells) * dtype_bytes(f->type));
}
