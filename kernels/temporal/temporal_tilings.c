#include "temporal/temporal_tilings.h"

#define TABLE(name) ((temporal_table){ name, (int)(sizeof name / sizeof *name) })

temporal_table temporal_table_of(const stencil *op)
{
    const bool f32 = op->type == DTYPE_F32;
    switch (op->form) {
    case STENCIL_LINE: return f32 ? TABLE(temporal_line_f32) : TABLE(temporal_line_f64);
    case STENCIL_STAR:
        if (op->has_prev) return f32 ? TABLE(temporal_star_prev_f32) : TABLE(temporal_star_prev_f64);
        return f32 ? TABLE(temporal_star_f32) : TABLE(temporal_star_f64);
    case STENCIL_BOX:
        if (op->has_prev) break;
        return f32 ? TABLE(temporal_box_f32) : TABLE(temporal_box_f64);
    }
    return (temporal_table){ 0 };
}

const temporal_tiling *temporal_tiling_of(const stencil *op, int most, temporal_use use)
{
    const temporal_table t = temporal_table_of(op);
    for (int i = 0; i < t.count; i++)
        if (t.tilings[i].radius == op->radius && t.tilings[i].use == use && t.tilings[i].steps <= most) return &t.tilings[i];
    return NULL;
}

int temporal_longest(const stencil *op, int most, temporal_use use)
{
    const temporal_tiling *t = temporal_tiling_of(op, most, use);
    return t ? t->steps : 0;
}
