/* Temporal blocking of lines of two levels, and the constant memory that holds their weights. */
#include "temporal/temporal_unit_cuda.cuh"

static constexpr temporal_entry table_f32[] = {
    TEMPORAL_LINE_PREV(float, 1, 12, 8), TEMPORAL_LINE_PREV(float, 1, 4, 8),
    TEMPORAL_LINE_PREV(float, 1, 2, 8), TEMPORAL_LINE_PREV(float, 1, 1, 8),
    TEMPORAL_LINE_PREV(float, 2, 8, 8), TEMPORAL_LINE_PREV(float, 2, 4, 8),
    TEMPORAL_LINE_PREV(float, 2, 2, 8), TEMPORAL_LINE_PREV(float, 2, 1, 8),
    TEMPORAL_LINE_PREV(float, 3, 8, 16), TEMPORAL_LINE_PREV(float, 3, 4, 8),
    TEMPORAL_LINE_PREV(float, 3, 2, 8), TEMPORAL_LINE_PREV(float, 3, 1, 8),
    TEMPORAL_LINE_PREV(float, 4, 8, 16), TEMPORAL_LINE_PREV(float, 4, 4, 16),
    TEMPORAL_LINE_PREV(float, 4, 2, 8), TEMPORAL_LINE_PREV(float, 4, 1, 8),
};
static constexpr temporal_entry table_f64[] = {
    TEMPORAL_LINE_PREV(double, 1, 12, 8), TEMPORAL_LINE_PREV(double, 1, 4, 8),
    TEMPORAL_LINE_PREV(double, 1, 2, 8), TEMPORAL_LINE_PREV(double, 1, 1, 8),
    TEMPORAL_LINE_PREV(double, 2, 8, 8), TEMPORAL_LINE_PREV(double, 2, 4, 8),
    TEMPORAL_LINE_PREV(double, 2, 2, 8), TEMPORAL_LINE_PREV(double, 2, 1, 8),
    TEMPORAL_LINE_PREV(double, 3, 8, 8), TEMPORAL_LINE_PREV(double, 3, 4, 8),
    TEMPORAL_LINE_PREV(double, 3, 2, 8), TEMPORAL_LINE_PREV(double, 3, 1, 8),
    TEMPORAL_LINE_PREV(double, 4, 8, 8), TEMPORAL_LINE_PREV(double, 4, 4, 8),
    TEMPORAL_LINE_PREV(double, 4, 2, 8), TEMPORAL_LINE_PREV(double, 4, 1, 8),
};
using f32 = temporal_table<table_f32, sizeof table_f32 / sizeof *table_f32>;
using f64 = temporal_table<table_f64, sizeof table_f64 / sizeof *table_f64>;

const temporal_unit temporal_cuda_line_prev_f32 = f32::unit;
const temporal_unit temporal_cuda_line_prev_f64 = f64::unit;
