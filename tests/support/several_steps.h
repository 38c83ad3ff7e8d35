/* For tests of passes that take several steps at once. The answer is as many single steps over a whole domain
 * on the host, each behind the fill of its ghosts. */
#pragma once

#include "support/sanitized.h"
#include "support/side_pairs.h"
#include "support/twin.h"

enum { LEVELS = 2, NAN_BYTE = 0xff /* what is read of it is seen */, UNWRITTEN = 0x5a };

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

/* The domain's last two levels with all their ghosts before the steps, and after them; the newest first. */
typedef struct answer {
    field_shape shape;
    void *before[LEVELS], *after[LEVELS];
} answer;

static inline answer answer_of(const problem *p, int depth_x)
{
    const int depth_y = p->op.form == STENCIL_LINE ? 0 : p->steps * p->op.radius;
    answer a = { .shape = field_shape_make(p->op.type, p->nx, p->ny, depth_x, depth_y) };
    for (int k = 0; k < LEVELS; k++) {
        a.before[k] = host_field_create(dev[ANSWER], &a.shape, 7 + (uint64_t)k);
        host_field_fill_ghosts(dev[ANSWER], &a.shape, a.before[k], &p->sides, stream[ANSWER]);
        a.after[k] = host_field_clone(dev[ANSWER], &a.shape, a.before[k]);
    }
    host_field_step(dev[ANSWER], &a.shape, a.after, p->op.has_prev, &p->sides, p->steps, stream[ANSWER]);
    return a;
}

static inline void answer_free(answer *a)
{
    for (int k = 0; k < LEVELS; k++) {
        host_field_free(dev[ANSWER], a->before[k]);
        host_field_free(dev[ANSWER], a->after[k]);
    }
}

/* A field of such bytes on both devices. */
static inline twin twin_filled(const field_shape *f, int byte)
{
    void *content = malloc(f->bytes);
    assert_non_null(content);
    memset(content, byte, f->bytes);
    const twin t = twin_of(content, f->bytes);
    free(content);
    return t;
}

/* Copies `cells` of a field whose cell (0, 0) is cell (x0, y0) of the other. */
static inline void copy_cells(const field_shape *f, void *to, box cells, const field_shape *from_shape,
                              const void *from, int64_t x0, int64_t y0)
{
    for (int64_t y = cells.y0; y < cells.y1; y++)
        memcpy(field_at(f, to, cells.x0, y), field_at_const(from_shape, from, x0 + cells.x0, y0 + y),
               (size_t)box_width(cells) * dtype_bytes(f->type));
}

/* Leaves cells out of the next comparison. */
static inline void forgive(const twin *t, const field_shape *f, box cells)
{
    void *seen = get(TESTED, t->at[TESTED], t->bytes);
    copy_cells(f, t->at[ANSWER], cells, f, seen, 0, 0);
    free(seen);
}

/* Compares a norm on the tested device with that of two levels on the host. */
static inline void same_change(const problem *p, const field_shape *f, void *const after[LEVELS], box cells,
                               const uint64_t *change)
{
    uint64_t expected, *seen = get(TESTED, change, sizeof *change);
    DO(ANSWER, max_change, f, after[0], after[1], cells, &expected, stream[ANSWER]);
    if (*seen != expected)
        fail_msg("%s: change %llx, not %llx", problem_text(p), (unsigned long long)*seen,
                 (unsigned long long)expected);
    free(seen);
}
