/* The tables of temporal_line_cuda.cu and temporal_line_prev_cuda.cu: one level and two are best built alike. */
#ifndef TEMPORAL_LINE_TILINGS_CUDA_CUH
#define TEMPORAL_LINE_TILINGS_CUDA_CUH

#include "temporal/temporal_unit_cuda.cuh"

static constexpr temporal_tiling line_tilings_f32[] = {
    /* radius, steps, columns */
    { 1,      12,    8 },
    { 1,      4,     8 },
    { 1,      2,     8 },
    { 1,      1,     8 },
    { 2,      8,     8 },
    { 2,      4,     8 },
    { 2,      2,     8 },
    { 2,      1,     8 },
    { 3,      8,     16 },
    { 3,      4,     8 },
    { 3,      2,     8 },
    { 3,      1,     8 },
    { 4,      8,     16 },
    { 4,      4,     16 },
    { 4,      2,     8 },
    { 4,      1,     8 },
};
static constexpr temporal_tiling line_tilings_f64[] = {
    /* radius, steps, columns */
    { 1,      12,    8 },
    { 1,      4,     8 },
    { 1,      2,     8 },
    { 1,      1,     8 },
    { 2,      8,     8 },
    { 2,      4,     8 },
    { 2,      2,     8 },
    { 2,      1,     8 },
    { 3,      8,     8 },
    { 3,      4,     8 },
    { 3,      2,     8 },
    { 3,      1,     8 },
    { 4,      8,     8 },
    { 4,      4,     8 },
    { 4,      2,     8 },
    { 4,      1,     8 },
};

/* PREV: of two levels. */
template <bool PREV> struct temporal_line_units {
    template <int I> using instance_f32 = temporal_line_instance<PREV, float, line_tilings_f32, I>;
    template <int I> using instance_f64 = temporal_line_instance<PREV, double, line_tilings_f64, I>;
    static constexpr temporal_unit f32 = temporal_unit_of<instance_f32>(temporal_all<line_tilings_f32>);
    static constexpr temporal_unit f64 = temporal_unit_of<instance_f64>(temporal_all<line_tilings_f64>);
};

#endif
