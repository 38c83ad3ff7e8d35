/* Temporal blocking of lines of one level and of two, and the constant memory that holds their weights. */
#include "temporal/temporal_unit_cuda.cuh"

TEMPORAL_UNIT(line_f32, STENCIL_LINE, false, float, temporal_line_f32)
TEMPORAL_UNIT(line_f64, STENCIL_LINE, false, double, temporal_line_f64)
TEMPORAL_UNIT(line_prev_f32, STENCIL_LINE, true, float, temporal_line_f32)
TEMPORAL_UNIT(line_prev_f64, STENCIL_LINE, true, double, temporal_line_f64)
