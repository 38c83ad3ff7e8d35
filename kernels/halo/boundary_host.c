/* Ghost values outside the domain, on the host.
 *
 * The value at (x, y) is defined by recursion: a coordinate beyond a side is replaced by its image under that
 * side's rule, y outermost, so that a corner is mirror_y(mirror_x(u)); a coordinate inside, or beyond a side
 * of kind NONE, is read unchanged. The recursion ends because every image lies nearer to the domain; it takes
 * more than one step per axis only if the ghosts are deeper than the axis is long. No cell is both read and
 * written here, so the order of cells does not matter. */
#include "core/cell.h"
#include "device/device_host.h"

/* An axis of a field, with its rules. */
typedef struct axis {
    int64_t n; /* own cells: 0 .. n-1 */
    const boundary_side *low, *high;
} axis;

/* Effect of a rule on a coordinate beyond its side: read the cell, take the image's value, V itself, or V + V
 * - the image's value. */
typedef enum rule { RULE_READ, RULE_IMAGE, RULE_VALUE, RULE_MIRROR } rule;

static rule axis_rule(const axis *a, int64_t i, int64_t *image, double *v)
{
    if (i >= 0 && i < a->n) return RULE_READ;
    const boundary_side *side = i < 0 ? a->low : a->high;
    const int64_t depth = i < 0 ? -1 - i : i - a->n; /* 0 for the first ghost */
    switch (side->kind) {
    case BOUNDARY_NONE: return RULE_READ;
    case BOUNDARY_PERIODIC: *image = i < 0 ? i + a->n : i - a->n; return RULE_IMAGE;
    case BOUNDARY_NEUMANN: *image = i < 0 ? depth : a->n - 1 - depth; return RULE_IMAGE;
    case BOUNDARY_DIRICHLET:
        *v = side->value;
        *image = i < 0 ? depth - 1 : a->n - depth; /* V is the node just outside, the mirror */
        return depth == 0 ? RULE_VALUE : RULE_MIRROR;
    }
    return RULE_READ;
}

#define DEFINE_BOUNDARY(CELL, MIRROR, SUFFIX)                                                              \
    static CELL along_x##SUFFIX(const axis *ax, const CELL *row, int64_t x)                                \
    {                                                                                                      \
        int64_t image = x;                                                                                 \
        double v = 0;                                                                                      \
        switch (axis_rule(ax, x, &image, &v)) {                                                            \
        case RULE_READ: return row[x];                                                                     \
        case RULE_IMAGE: return along_x##SUFFIX(ax, row, image);                                           \
        case RULE_VALUE: return (CELL)v;                                                                   \
        case RULE_MIRROR: return MIRROR((CELL)v, along_x##SUFFIX(ax, row, image));                         \
        }                                                                                                  \
        return row[x];                                                                                     \
    }                                                                                                      \
    static CELL along_y##SUFFIX(const axis *ax, const axis *ay, const CELL *own, int64_t pitch, int64_t x, \
                                int64_t y)                                                                 \
    {                                                                                                      \
        int64_t image = y;                                                                                 \
        double v = 0;                                                                                      \
        switch (axis_rule(ay, y, &image, &v)) {                                                            \
        case RULE_READ: return along_x##SUFFIX(ax, own + y * pitch, x);                                    \
        case RULE_IMAGE: return along_y##SUFFIX(ax, ay, own, pitch, x, image);                             \
        case RULE_VALUE: return (CELL)v;                                                                   \
        case RULE_MIRROR: return MIRROR((CELL)v, along_y##SUFFIX(ax, ay, own, pitch, x, image));           \
        }                                                                                                  \
        return own[y * pitch + x];                                                                         \
    }                                                                                                      \
    static void fill##SUFFIX(const axis *ax, const axis *ay, CELL *own, int64_t pitch, box b)              \
    {                                                                                                      \
        for (int64_t y = b.y0; y < b.y1; y++)                                                              \
            for (int64_t x = b.x0; x < b.x1; x++)                                                          \
                own[y * pitch + x] = along_y##SUFFIX(ax, ay, own, pitch, x, y);                            \
    }

DEFINE_BOUNDARY(float, cell_mirror_f32, _f32)
DEFINE_BOUNDARY(double, cell_mirror_f64, _f64)

int boundary_host_fill(device *d, const field_shape *f, void *field, const boundary *sides, const box *boxes,
                       int count, device_stream *s)
{
    const axis ax = { f->nx, &sides->x_low, &sides->x_high }, ay = { f->ny, &sides->y_low, &sides->y_high };
    int64_t cells = 0;
    if (box_empty(field_own(f))) return 0; /* no cell that an image could show */
    for (int i = 0; i < count; i++) cells += box_cells(boxes[i]);
    const int team = device_host_team(d, cells);
#pragma omp parallel num_threads(team) if (team > 1)
    for (int i = 0; i < count; i++) {
        const box part = device_host_part(boxes[i], omp_get_thread_num(), omp_get_num_threads());
        switch (f->type) {
        case DTYPE_F32: fill_f32(&ax, &ay, field_at(f, field, 0, 0), f->pitch, part); break;
        case DTYPE_F64: fill_f64(&ax, &ay, field_at(f, field, 0, 0), f->pitch, part); break;
        }
    }
    return 0;
}
