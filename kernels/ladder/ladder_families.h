/* The tables that ladder.c lists, one a family and kind of device. Included by the file that defines each
 * one. */
#pragma once

#include "ladder/ladder.h"

LINKAGE_C_BEGIN

extern const ladder_family ladder_ceiling_host, ladder_transpose_host;
extern const ladder_family ladder_ceiling_cuda, ladder_memory_cuda, ladder_access_cuda, ladder_shared_cuda,
    ladder_transpose_cuda;
extern const ladder_family ladder_stencil_host, ladder_stencil_cuda, ladder_reduce_cuda;
extern const ladder_family ladder_memory_host, ladder_access_host, ladder_reduce_host, ladder_launch_cuda;
extern const ladder_family ladder_fused_host, ladder_fused_cuda;
extern const ladder_family ladder_constant_cuda, ladder_product_cuda, ladder_arith_cuda;
extern const ladder_family ladder_roofline_host, ladder_roofline_cuda, ladder_streams_cuda;
extern const ladder_family ladder_streaming_host, ladder_streaming_cuda;

LINKAGE_C_END
