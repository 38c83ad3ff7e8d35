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

/* In double: exact for both types. */
static double cell(const field_shape *f, const void *field, const boundary *b, int64_t x, int64_t y)
{
    int64_t image_x = x, image_y = y;
    double v = 0;
    boundary_rule r = boundary_step(f->ny, b->y_low, b->y_high, &image_y, &v);
    if (r == BOUNDARY_READ) r = boundary_step(f->nx, b->x_low, b->x_high, &image_x, &v);
    if (r == BOUNDARY_VALUE) return v;
    if (r == BOUNDARY_READ) return cell_get(f->type, field, field_index(f, x, y));
    const double image = cell(f, field, b, image_x, image_y);
    return r == BOUNDARY_MIRROR ? cell_mirror(f->type, v, image) : image;
}

int boundary_fill_host(device *d, const field_shape *f, void *field, const boundary *sides, const box *boxes,
                       int count, device_stream *s)
{
    int64_t cells = 0;
    if (box_empty(field_own(f))) return 0; /* no cell that an image could show */
    for (int i = 0; i < count; i++) cells += box_cells(boxes[i]);
    const int team = device_host_team(d, cells, device_host_moved(f->type, 2, cells));
#pragma omp parallel num_threads(team) if (team > 1)
    for (int i = 0; i < count; i++) {
        const box b = device_host_part(boxes[i]);
        for (int64_t y = b.y0; y < b.y1; y++)
            for (int64_t x = b.x0; x < b.x1; x++)
                cell_set(f->type, field, field_index(f, x, y), cell(f, field, sides, x, y));
    }
    return 0;
}

/* ---- boxes to and from dense message buffers: by rows, every thread a part of each box ---- */

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

enum move { MOVE_PACK, MOVE_UNPACK, MOVE_UNPACK_SUM };

/* The move decides what is written. */
static int move_pieces(device *d, const field_shape *f, const void *field, const void *buffer,
                       const pack_piece *pieces, int count, enum move move)
{
    const size_t cell_bytes = dtype_bytes(f->type);
    int64_t cells = 0;
    assert(count <= PACK_PIECES_MAX);
    for (int i = 0; i < count; i++) cells += box_cells(pieces[i].cells);
    const int words = move == MOVE_UNPACK_SUM ? 3 : 2;
    const int team = device_host_team(d, cells, device_host_moved(f->type, words, cells));
#pragma omp parallel num_threads(team) if (team > 1)
    for (int i = 0; i < count; i++) {
        const box all = pieces[i].cells;
        const box part = device_host_part(all);
        const int64_t width = box_width(part);
        for (int64_t y = part.y0; width > 0 && y < part.y1; y++) {
            const int64_t at = pieces[i].offset + (y - all.y0) * box_width(all) + part.x0 - all.x0;
            char *const row = field_at(f, (void *)field, part.x0, y),
                        *const packed = (char *)buffer + (size_t)at * cell_bytes;
            switch (move) {
            case MOVE_PACK: memcpy(packed, row, (size_t)width * cell_bytes); break;
            case MOVE_UNPACK: memcpy(row, packed, (size_t)width * cell_bytes); break;
            case MOVE_UNPACK_SUM: add_row(f->type, row, packed, width); break;
            }
        }
    }
    return 0;
}

int pack_host(device *d, const field_shape *f, const void *field, void *buffer, const pack_piece *pieces,
              int count, device_stream *s)
{
    return move_pieces(d, f, field, buffer, pieces, count, MOVE_PACK);
}

int unpack_host(device *d, const field_shape *f, void *field, const void *buffer, const pack_piece *pieces,
                int count, unpack_mode mode, device_stream *s)
{
    const enum move move = mode == UNPACK_ADD ? MOVE_UNPACK_SUM : MOVE_UNPACK;
    return move_pieces(d, f, field, buffer, pieces, count, move);
}
