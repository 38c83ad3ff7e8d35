/* Boxes of a field to and from dense message buffers, on the host: by rows, every thread a part of a box. */
#include <assert.h>
#include <string.h>

#include "device/device_host.h"

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
    const int team = device_host_team(d, pieces_cells(pieces, count));
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
    const int team = device_host_team(d, pieces_cells(pieces, count));
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
