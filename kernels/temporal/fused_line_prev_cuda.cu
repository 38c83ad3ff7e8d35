/* Fused sweeps of lines of two levels, and the constant memory that holds their weights. */
#include "temporal/fused_unit_cuda.cuh"

static constexpr fused_entry table_f32[] = {
    FUSED_LINE_PREV(float, 1, 12, 8), FUSED_LINE_PREV(float, 1, 4, 8),
    FUSED_LINE_PREV(float, 1, 2, 8), FUSED_LINE_PREV(float, 1, 1, 8),
    FUSED_LINE_PREV(float, 2, 8, 8), FUSED_LINE_PREV(float, 2, 4, 8),
    FUSED_LINE_PREV(float, 2, 2, 8), FUSED_LINE_PREV(float, 2, 1, 8),
    FUSED_LINE_PREV(float, 3, 8, 16), FUSED_LINE_PREV(float, 3, 4, 8),
    FUSED_LINE_PREV(float, 3, 2, 8), FUSED_LINE_PREV(float, 3, 1, 8),
    FUSED_LINE_PREV(float, 4, 8, 16), FUSED_LINE_PREV(float, 4, 4, 16),
    FUSED_LINE_PREV(float, 4, 2, 8), FUSED_LINE_PREV(float, 4, 1, 8),
};
static constexpr fused_entry table_f64[] = {
    FUSED_LINE_PREV(double, 1, 12, 8), FUSED_LINE_PREV(double, 1, 4, 8),
    FUSED_LINE_PREV(double, 1, 2, 8), FUSED_LINE_PREV(double, 1, 1, 8),
    FUSED_LINE_PREV(double, 2, 8, 8), FUSED_LINE_PREV(double, 2, 4, 8),
    FUSED_LINE_PREV(double, 2, 2, 8), FUSED_LINE_PREV(double, 2, 1, 8),
    FUSED_LINE_PREV(double, 3, 8, 8), FUSED_LINE_PREV(double, 3, 4, 8),
    FUSED_LINE_PREV(double, 3, 2, 8), FUSED_LINE_PREV(double, 3, 1, 8),
    FUSED_LINE_PREV(double, 4, 8, 8), FUSED_LINE_PREV(double, 4, 4, 8),
    FUSED_LINE_PREV(double, 4, 2, 8), FUSED_LINE_PREV(double, 4, 1, 8),
};
using f32 = fused_table<table_f32, sizeof table_f32 / sizeof *table_f32>;
using f64 = fused_table<table_f64, sizeof table_f64 / sizeof *table_f64>;

const fused_unit fused_cuda_line_prev_f32 = f32::unit;
const fused_unit fused_cuda_line_prev_f64 = f64::unit;
