/* Fused sweeps of f64 boxes, and the constant memory that holds their weights. */
#include "temporal/fused_unit_cuda.cuh"

static constexpr fused_entry table[] = {
    FUSED_BOX(double, 1, 6, 4, 2, 8, 2, 2), FUSED_BOX(double, 1, 3, 4, 2, 8, 2, 2), FUSED_BOX(double, 1, 1, 4, 2, 8, 2, 2),
    FUSED_BOX(double, 2, 3, 4, 4, 8, 2, 4), FUSED_BOX(double, 2, 2, 4, 4, 8, 2, 4), FUSED_BOX(double, 2, 1, 4, 4, 8, 2, 4),
};
using functions = fused_table<table, sizeof table / sizeof *table>;

const fused_unit fused_cuda_box_f64 = functions::unit;
