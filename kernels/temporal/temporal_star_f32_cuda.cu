/* Temporal blocking of f32 stars, and the constant memory that holds their weights. */
#include "temporal/temporal_unit_cuda.cuh"

static constexpr temporal_tiling tilings[] = {
    /* radius, steps, columns, unroll, warps, border_columns, border_unroll, use, again */
    { 1,      12,    8,       4,      8,     4,              2 },
    { 1,      8,     8,       4,      8,     4,              2 },
    { 1,      4,     8,       4,      8,     4,              2 },
    { 1,      2,     8,       4,      8,     4,              2 },
    { 1,      1,     4,       4,      8,     4,              2 },
    { 1,      12,    4,       4,      12,    4,              2,            TEMPORAL_NARROW },
    { 1,      8,     4,       4,      12,    4,              2,            TEMPORAL_NARROW },
    { 1,      12,    4,       4,      12,    4,              2,            TEMPORAL_NORM },
    { 1,      8,     8,       4,      8,     4,              2,            TEMPORAL_NORM },
    { 1,      4,     8,       4,      8,     4,              2,            TEMPORAL_NORM },
    { 2,      6,     8,       4,      8,     4,              4 },
    { 2,      4,     8,       4,      8,     4,              4 },
    { 2,      2,     8,       4,      8,     4,              4 },
    { 2,      1,     4,       4,      8,     4,              4 },
    { 2,      6,     4,       4,      12,    4,              4,            TEMPORAL_NARROW },
    { 3,      4,     4,       6,      12,    4,              6 },
    { 3,      2,     4,       6,      12,    4,              6 },
    { 3,      1,     4,       6,      12,    4,              6 },
    { 4,      3,     4,       8,      12,    4,              8 },
    { 4,      2,     4,       8,      12,    4,              8 },
    { 4,      1,     4,       8,      12,    4,              8 },
};
template <int I> using instance = temporal_strips_instance<STENCIL_STAR, false, float, tilings, I>;

const temporal_unit temporal_cuda_star_f32 = temporal_unit_of<instance>(temporal_all<tilings>);
