#include "storm/storm_truth.h"

#include <stdlib.h>
#include <string.h>

#include "ranks/check.h"

struct storm_truth {
    device *d;
    field_shape shape;
    boundary sides;
    bool two_levels;
    int64_t level; /* the last one */
    void *kept[STORM_TRUTH_LEVELS], *before; /* level n in kept[n mod STORM_TRUTH_LEVELS]; before: level -1 */
};

static void *kept(const storm_truth *t, int64_t level)
{
    return level < 0 ? t->before : t->kept[level % STORM_TRUTH_LEVELS];
}

/* All ghosts, corners too. */
static void fill(storm_truth *t, void *field)
{
    const field_shape *f = &t->shape;
    const int64_t r = f->depth_x, ry = f->depth_y, x[4] = { -r, 0, f->nx, f->nx + r },
                  y[4] = { -ry, 0, f->ny, f->ny + ry };
    box ghosts[BOUNDARY_BOXES_MAX];
    int count = 0;
    for (int i = 0; i < 9; i++) {
        const box b = box_make(x[i % 3], x[i % 3 + 1], y[i / 3], y[i / 3 + 1]);
        if (i != 4 && !box_empty(b)) ghosts[count++] = b;
    }
    DEVICE_CALL(t->d, boundary_fill, f, field, &t->sides, ghosts, count, NULL);
}

static void *make_field(storm_truth *t, const value *v)
{
    void *field;
    DEVICE_CALL(t->d, alloc, DEVICE_MEMORY_DEVICE, t->shape.bytes, &field);
    if (!v) return field;
    DEVICE_CALL(t->d, value_fill, &t->shape, field, v, field_own(&t->shape), NULL);
    fill(t, field);
    return field;
}

storm_truth *storm_truth_create(const config *c, const problem *p)
{
    const kind_row *kind = config_kind_of(c);
    if (!kind->stencil || kind->by_lines) return NULL;
    storm_truth *t = CHECK_ALLOC(calloc(1, sizeof *t));
    const int r = c->problem.radius;
    problem_tables tables;
    *t = (storm_truth){ .d = device_host_create(1),
                        .sides = c->grid.sides,
                        .two_levels = p->two_levels,
                        .shape = field_shape_make(c->problem.type, c->grid.nx, c->grid.ny, r,
                                                  config_two_d(c) ? r : 0) };
    DEVICE_CALL(t->d, stencil_bind, &p->op);
    (void)problem_tables_make(&tables, p, c, box_make(0, c->grid.nx, 0, c->grid.ny));
    const value before = problem_value_before(p, c, &tables.base);
    for (int i = 0; i < STORM_TRUTH_LEVELS; i++) t->kept[i] = make_field(t, i == 0 ? &tables.base : NULL);
    t->before = make_field(t, &before);
    problem_tables_free(&tables);
    return t;
}

void storm_truth_destroy(storm_truth **t)
{
    if (!*t) return;
    device *d = (*t)->d;
    for (int i = 0; i < STORM_TRUTH_LEVELS; i++) DEVICE_CALL(d, free, DEVICE_MEMORY_DEVICE, (*t)->kept[i]);
    DEVICE_CALL(d, free, DEVICE_MEMORY_DEVICE, (*t)->before);
    device_destroy(&d);
    free(*t);
    *t = NULL;
}

void storm_truth_advance(storm_truth *t, int64_t level)
{
    const box own = field_own(&t->shape);
    for (; t->level < level; t->level++) {
        void *next = kept(t, t->level + 1);
        const void *prev = t->two_levels ? kept(t, t->level - 1) : NULL;
        DEVICE_CALL(t->d, stencil_pass, &t->shape, next, kept(t, t->level), prev, &own, 1, NULL);
        fill(t, next);
    }
}

uint64_t storm_truth_bits(const storm_truth *t, int64_t level, int64_t x, int64_t y)
{
    uint64_t bits = 0;
    memcpy(&bits, field_at_const(&t->shape, kept(t, level), x, y), dtype_bytes(t->shape.type));
    return bits;
}

int64_t storm_truth_level_with(const storm_truth *t, int64_t before, uint64_t bits, int64_t x, int64_t y)
{
    int64_t level = before - 1;
    const int64_t oldest = t->level - STORM_TRUTH_LEVELS;
    while (level >= 0 && level > oldest && storm_truth_bits(t, level, x, y) != bits) level--;
    return level > oldest ? level : -1;
}

double storm_truth_change(storm_truth *t, int64_t level)
{
    uint64_t bits = 0;
    double change;
    DEVICE_CALL(t->d, max_change, &t->shape, kept(t, level), kept(t, level - 1), field_own(&t->shape), &bits,
                NULL);
    memcpy(&change, &bits, sizeof change);
    return change;
}
