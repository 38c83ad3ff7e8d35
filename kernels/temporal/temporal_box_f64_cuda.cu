/* Temporal blocking of f64 boxes, and the constant memory that holds their weights. */
#include "temporal/temporal_unit_cuda.cuh"

static constexpr temporal_entry table[] = {
    TEMPORAL_BOX(double, 1, 6, 4, 2, 8, 2, 2), TEMPORAL_BOX(double, 1, 3, 4, 2, 8, 2, 2), TEMPORAL_BOX(double, 1, 1, 4, 2, 8, 2, 2),
    TEMPORAL_BOX(double, 2, 3, 4, 4, 8, 2, 4), TEMPORAL_BOX(double, 2, 2, 4, 4, 8, 2, 4), TEMPORAL_BOX(double, 2, 1, 4, 4, 8, 2, 4),
};
using functions = temporal_table<table, sizeof table / sizeof *table>;

const temporal_unit temporal_cuda_box_f64 = functions::unit;
