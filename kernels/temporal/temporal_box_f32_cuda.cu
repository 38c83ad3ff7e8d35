/* Temporal blocking of f32 boxes, and the constant memory that holds their weights. */
#include "temporal/temporal_unit_cuda.cuh"

static constexpr temporal_entry table[] = {
    TEMPORAL_BOX(float, 1, 8, 8, 2, 8, 4, 2), TEMPORAL_BOX(float, 1, 4, 8, 2, 8, 4, 2), TEMPORAL_BOX(float, 1, 2, 8, 2, 8, 4, 2),
    TEMPORAL_BOX(float, 1, 1, 4, 2, 8, 4, 2),
    TEMPORAL_BOX(float, 2, 3, 4, 4, 16, 4, 4), TEMPORAL_BOX(float, 2, 2, 4, 4, 16, 4, 4), TEMPORAL_BOX(float, 2, 1, 4, 4, 16, 4, 4),
};
using functions = temporal_table<table, sizeof table / sizeof *table>;

const temporal_unit temporal_cuda_box_f32 = functions::unit;
