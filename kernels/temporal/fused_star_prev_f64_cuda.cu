/* Fused sweeps of f64 stars of two levels, and the constant memory that holds their weights. */
#include "temporal/fused_unit_cuda.cuh"

static constexpr fused_entry table[] = {
    FUSED_STAR_PREV(double, 1, 12, 2, 3, 12, 2, 3), FUSED_STAR_PREV(double, 1, 8, 4, 3, 8, 2, 3),
    FUSED_STAR_PREV(double, 1, 4, 4, 3, 8, 2, 3), FUSED_STAR_PREV(double, 1, 2, 4, 3, 8, 2, 3),
    FUSED_STAR_PREV(double, 1, 1, 4, 3, 8, 2, 3),
    FUSED_STAR_PREV(double, 2, 6, 4, 5, 8, 2, 5, 3), FUSED_STAR_PREV(double, 2, 4, 4, 5, 8, 2, 5),
    FUSED_STAR_PREV(double, 2, 2, 4, 5, 8, 2, 5), FUSED_STAR_PREV(double, 2, 1, 4, 5, 8, 2, 5),
    FUSED_STAR_PREV(double, 3, 4, 4, 7, 8, 2, 7), FUSED_STAR_PREV(double, 3, 3, 4, 7, 8, 2, 7),
    FUSED_STAR_PREV(double, 3, 2, 4, 7, 8, 2, 7), FUSED_STAR_PREV(double, 3, 1, 4, 7, 8, 2, 7),
    FUSED_STAR_PREV(double, 4, 3, 4, 9, 8, 2, 9, 0), FUSED_STAR_PREV(double, 4, 2, 4, 9, 8, 2, 9),
    FUSED_STAR_PREV(double, 4, 1, 4, 9, 8, 2, 9),
};
using functions = fused_table<table, sizeof table / sizeof *table>;

const fused_unit fused_cuda_star_prev_f64 = functions::unit;
