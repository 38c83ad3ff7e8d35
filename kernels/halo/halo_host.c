/* Ghosts of a field on the host: the fill beyond the domain's sides, and boxes to and from message buffers.
 *
 * The value at (x, y) beyond a side is defined by recursion: a coordinate beyond a side is replaced by its
 * image under that side's rule, y outermost, so that a corner is mirror_y(mirror_x(u)); a coordinate inside,
 * or beyond a side of kind NONE, is read unchanged. The recursion ends because every image lies nearer to the
 * domain; it takes more than one step per axis only if the ghosts are deeper than the axis is long. No cell
 * is both read and written, so the order of cells does not matter. */
#include <assert.h>
#include <string.h>

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

typedef struct ghosts {
    axis x, y;
    const field_shape *shape;
    void *field;
} ghosts;

/* In double: exact for both types. */
static double cell(const ghosts *g, int64_t x, int64_t y)
{
    int64_t image_x = x, image_y = y;
    double v = 0;
    rule r = axis_rule(&g->y, y, &image_y, &v);
    if (r == RULE_READ) r = axis_rule(&g->x, x, &image_x, &v);
    if (r == RULE_VALUE) return v;
    if (r == RULE_READ) return cell_get(g->shape->type, field_at_const(g->shape, g->field, x, y));
    const double image = cell(g, image_x, image_y);
    return r == RULE_MIRROR ? cell_mirror(g->shape->type, v, image) : image;
}

static void fill(const ghosts *g, box b)
{
    for (int64_t y = b.y0; y < b.y1; y++)
        for (int64_t x = b.x0; x < b.x1; x++)
            cell_set(g->shape->type, field_at(g->shape, g->field, x, y), cell(g, x, y));
}

int boundary_fill_host(device *d, const field_shape *f, void *field, const boundary *sides, const box *boxes,
                       int count, device_stream *s)
{
    const ghosts g = { .x = { f->nx, &sides->x_low, &sides->x_high },
                       .y = { f->ny, &sides->y_low, &sides->y_high },
                       .shape = f,
                       .field = field };
    int64_t cells = 0;
    if (box_empty(field_own(f))) return 0; /* no cell that an image could show */
    for (int i = 0; i < count; i++) cells += box_cells(boxes[i]);
    const int team = device_host_team(d, cells, device_host_moved(f->type, 2, cells));
#pragma omp parallel num_threads(team) if (team > 1)
    for (int i = 0; i < count; i++)
        fill(&g, device_host_part(boxes[i], omp_get_thread_num(), omp_get_num_threads()));
    return 0;
}

/* ---- boxes to and from dense message buffers: by rows, every thread a part of each box ---- */

static int64_t pieces_cells(const pack_piece *pieces, int count)
{
    int64_t cells = 0;
    assert(count <= PACK_PIECES_MAX);
    for (int i = 0; i < count; i++) cells += box_cells(pieces[i].cells);
    return cells;
}

/* Bytes from the buffer's start to cell (x, y) of a piece. */
static size_t piece_at_bytes(const pack_piece *p, int64_t x, int64_t y, dtype t)
{
    return (size_t)(p->offset + (y - p->cells.y0) * box_width(p->cells) + (x - p->cells.x0)) * dtype_bytes(t);
}

int pack_host(device *d, const field_shape *f, const void *field, void *buffer, const pack_piece *pieces,
              int count, device_stream *s)
{
    const int64_t cells = pieces_cells(pieces, count);
    const int team = device_host_team(d, cells, device_host_moved(f->type, 2, cells));
#pragma omp parallel num_threads(team) if (team > 1)
    for (int i = 0; i < count; i++) {
        const box part = device_host_part(pieces[i].cells, omp_get_thread_num(), omp_get_num_threads());
        const size_t row_bytes = (size_t)box_width(part) * dtype_bytes(f->type);
        for (int64_t y = part.y0; row_bytes > 0 && y < part.y1; y++)
            memcpy((char *)buffer + piece_at_bytes(&pieces[i], part.x0, y, f->type),
                   field_at_const(f, field, part.x0, y), row_bytes);
    }
    return 0;
}

static void add_row(dtype t, void *restrict to, const void *restrict from, int64_t cells)
{
    switch (t) {
    case DTYPE_F32:
        for (int64_t i = 0; i < cells; i++) ((float *)to)[i] += ((const float *)from)[i];
        break;
    case DTYPE_F64:
        for (int64_t i = 0; i < cells; i++) ((double *)to)[i] += ((const double *)from)[i];
        break;
    }
}

int unpack_host(device *d, const field_shape *f, void *field, const void *buffer, const pack_piece *pieces,
                int count, unpack_mode mode, device_stream *s)
{
    const int64_t cells = pieces_cells(pieces, count);
    const int words = mode == UNPACK_ADD ? 3 : 2;
    const int team = device_host_team(d, cells, device_host_moved(f->type, words, cells));
#pragma omp parallel num_threads(team) if (team > 1)
    for (int i = 0; i < count; i++) {
        const box part = device_host_part(pieces[i].cells, omp_get_thread_num(), omp_get_num_threads());
        const int64_t width = box_width(part);
        for (int64_t y = part.y0; width > 0 && y < part.y1; y++) {
            void *to = field_at(f, field, part.x0, y);
            const void *from = (const char *)buffer + piece_at_bytes(&pieces[i], part.x0, y, f->type);
            switch (mode) {
            case UNPACK_STORE: memcpy(to, from, (size_t)width * dtype_bytes(f->type)); break;
            case UNPACK_ADD: add_row(f->type, to, from, width); break;
            }
        }
    }
    return 0;
}
