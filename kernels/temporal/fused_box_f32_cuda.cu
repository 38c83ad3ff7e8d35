/* Fused sweeps of f32 boxes, and the constant memory that holds their weights. */
#include "temporal/fused_unit_cuda.cuh"

static constexpr fused_entry table[] = {
    FUSED_BOX(float, 1, 8, 8, 2, 8, 4, 2), FUSED_BOX(float, 1, 4, 8, 2, 8, 4, 2), FUSED_BOX(float, 1, 2, 8, 2, 8, 4, 2),
    FUSED_BOX(float, 1, 1, 4, 2, 8, 4, 2),
    FUSED_BOX(float, 2, 3, 4, 4, 16, 4, 4), FUSED_BOX(float, 2, 2, 4, 4, 16, 4, 4), FUSED_BOX(float, 2, 1, 4, 4, 16, 4, 4),
};
using functions = fused_table<table, sizeof table / sizeof *table>;

const fused_unit fused_cuda_box_f32 = functions::unit;
