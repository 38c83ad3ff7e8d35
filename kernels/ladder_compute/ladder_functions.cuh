/* The functions of family arith, which ladder_functions.cu measures and ladder_arith.cu lists. */
#pragma once

#include "ladder/ladder_kernel.cuh"

enum {
    LADDER_SIN,
    LADDER_SIN_FAST,
    LADDER_EXP,
    LADDER_EXP_FAST,
    LADDER_DIVIDE,
    LADDER_DIVIDE_FAST,
    LADDER_SQRT_DIVIDE,
    LADDER_RSQRT,
    LADDER_FUNCTIONS
};

extern const ladder_way ladder_function_way[LADDER_FUNCTIONS];
