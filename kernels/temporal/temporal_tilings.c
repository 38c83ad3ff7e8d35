#include "temporal/temporal_tilings.h"

#define TABLE(name) { name, (int)(sizeof name / sizeof *name) }
#define BOTH_TYPES(name) { TABLE(name##_f32), TABLE(name##_f64) }

/* [form][has_prev][type]. */
static const temporal_table tables[STENCIL_FORMS][2][2] = {
    [STENCIL_LINE] = { BOTH_TYPES(temporal_line), BOTH_TYPES(temporal_line) },
    [STENCIL_STAR] = { BOTH_TYPES(temporal_star), BOTH_TYPES(temporal_star_prev) },
    [STENCIL_BOX] = { BOTH_TYPES(temporal_box) },
    [STENCIL_SEPARABLE] = { BOTH_TYPES(temporal_separable) },
    [STENCIL_SEPARABLE_SUM] = { BOTH_TYPES(temporal_separable_sum) },
};

temporal_table temporal_table_of(const stencil *op) { return tables[op->form][op->has_prev][op->type]; }

const temporal_tiling *temporal_tiling_of(const stencil *op, int most, temporal_use use)
{
    const temporal_table t = temporal_table_of(op);
    for (int i = 0; i < t.count; i++)
        if (t.tilings[i].radius == op->radius && t.tilings[i].use == use && t.tilings[i].steps <= most)
            return &t.tilings[i];
    return NULL;
}

int temporal_longest(const stencil *op, int most, temporal_use use)
{
    const temporal_tiling *t = temporal_tiling_of(op, most, use);
    return t ? t->steps : 0;
}
