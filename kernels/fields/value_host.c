/* Fields given by a formula, on the host: cell_value in double, rounded once to the field's type. This is
 * usually the first kernel that writes a field, so its share of rows decides where their pages lie. */
#include "core/cell.h"
#include "device/device_host.h"

DEVICE_HOST_CLONES
static void row_f32(float *u, const value *v, int64_t x, int64_t y, int64_t n)
{
    for (int64_t i = 0; i < n; i++) u[i] = (float)cell_value(v, x + i, y);
}

DEVICE_HOST_CLONES
static void row_f64(double *u, const value *v, int64_t x, int64_t y, int64_t n)
{
    for (int64_t i = 0; i < n; i++) u[i] = cell_value(v, x + i, y);
}

int value_host_fill(device *d, const field_shape *f, void *field, const value *v, box cells, device_stream *s)
{
    const int team = device_host_team(d, box_cells(cells));
#pragma omp parallel num_threads(team) if (team > 1)
    {
        const box part = device_host_part(cells, omp_get_thread_num(), omp_get_num_threads());
        for (int64_t y = part.y0; y < part.y1; y++) {
            void *row = field_at(f, field, part.x0, y);
            switch (f->type) {
            case DTYPE_F32: row_f32(row, v, part.x0, y, box_width(part)); break;
            case DTYPE_F64: row_f64(row, v, part.x0, y, box_width(part)); break;
            }
        }
    }
    return 0;
}
