/* The tables that ladder.c lists, one a family and kind of device, in the order in which they are climbed. Included by the file that
 * defines each one. */
#pragma once

#include "ladder/ladder.h"

#define LADDER_HOST_FAMILIES(DO)                                                                                             \
    DO(ceiling_host) DO(memory_host) DO(access_host) DO(transpose_host) DO(stencil_host) DO(fused_host) DO(reduce_host)      \
    DO(roofline_host)
#define LADDER_CUDA_FAMILIES(DO)                                                                                             \
    DO(ceiling_cuda) DO(memory_cuda) DO(access_cuda) DO(shared_cuda) DO(transpose_cuda) DO(stencil_cuda) DO(fused_cuda)      \
    DO(reduce_cuda) DO(launch_cuda) DO(constant_cuda) DO(product_cuda) DO(arith_cuda) DO(streams_cuda) DO(roofline_cuda)

LINKAGE_C_BEGIN

#define LADDER_DECLARE(NAME) extern const ladder_family ladder_##NAME;
LADDER_HOST_FAMILIES(LADDER_DECLARE)
LADDER_CUDA_FAMILIES(LADDER_DECLARE)

LINKAGE_C_END
