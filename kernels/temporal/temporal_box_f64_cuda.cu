/* Temporal blocking of f64 boxes, and the constant memory that holds their weights. */
#include "temporal/temporal_unit_cuda.cuh"

static constexpr temporal_tiling tilings[] = {
    /* radius, steps, columns, unroll, warps, border_columns, border_unroll, use, again */
    { 1,      6,     4,       2,      8,     2,              2 },
    { 1,      3,     4,       2,      8,     2,              2 },
    { 1,      1,     4,       2,      8,     2,              2 },
    { 2,      3,     4,       4,      8,     2,              4 },
    { 2,      2,     4,       4,      8,     2,              4 },
    { 2,      1,     4,       4,      8,     2,              4 },
};
template <int I> using instance = temporal_strips_instance<STENCIL_BOX, false, double, tilings, I>;

const temporal_unit temporal_cuda_box_f64 = temporal_unit_of<instance>(temporal_all<tilings>);
