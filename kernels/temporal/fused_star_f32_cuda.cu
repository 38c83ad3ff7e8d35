/* Fused sweeps of f32 stars, and the constant memory that holds their weights. */
#include "temporal/fused_unit_cuda.cuh"

static constexpr fused_entry table[] = {
    FUSED_STAR(float, 1, 12, 8, 4, 8, 4, 2), FUSED_STAR(float, 1, 8, 8, 4, 8, 4, 2), FUSED_STAR(float, 1, 4, 8, 4, 8, 4, 2),
    FUSED_STAR(float, 1, 2, 8, 4, 8, 4, 2),  FUSED_STAR(float, 1, 1, 4, 4, 8, 4, 2),
    FUSED_STAR_NARROW(float, 1, 12, 4, 4, 12, 4, 2), FUSED_STAR_NARROW(float, 1, 8, 4, 4, 12, 4, 2),
    FUSED_STAR_CHANGE(float, 1, 12, 4, 4, 12, 4, 2), FUSED_STAR_CHANGE(float, 1, 8, 8, 4, 8, 4, 2),
    FUSED_STAR_CHANGE(float, 1, 4, 8, 4, 8, 4, 2),
    FUSED_STAR(float, 2, 6, 8, 4, 8, 4, 4),  FUSED_STAR(float, 2, 4, 8, 4, 8, 4, 4), FUSED_STAR(float, 2, 2, 8, 4, 8, 4, 4),
    FUSED_STAR(float, 2, 1, 4, 4, 8, 4, 4),  FUSED_STAR_NARROW(float, 2, 6, 4, 4, 12, 4, 4),
    FUSED_STAR(float, 3, 4, 4, 6, 12, 4, 6), FUSED_STAR(float, 3, 2, 4, 6, 12, 4, 6), FUSED_STAR(float, 3, 1, 4, 6, 12, 4, 6),
    FUSED_STAR(float, 4, 3, 4, 8, 12, 4, 8), FUSED_STAR(float, 4, 2, 4, 8, 12, 4, 8), FUSED_STAR(float, 4, 1, 4, 8, 12, 4, 8),
};
using functions = fused_table<table, sizeof table / sizeof *table>;

const fused_unit fused_cuda_star_f32 = functions::unit;
