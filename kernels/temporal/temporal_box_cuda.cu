/* Temporal blocking of boxes, and the constant memory that holds their weights. */
#include "temporal/temporal_unit_cuda.cuh"

TEMPORAL_UNIT(box_f32, STENCIL_BOX, false, float, temporal_box_f32)
TEMPORAL_UNIT(box_f64, STENCIL_BOX, false, double, temporal_box_f64)
