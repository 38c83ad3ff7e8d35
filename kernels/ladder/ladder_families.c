/* The families of this build, in the order in which they are climbed. */
#include "ladder/ladder.h"

static const ladder_family *const families[] = {
    &ladder_ceiling_host,   &ladder_access_host,    &ladder_transpose_host, &ladder_stencil_host,
    &ladder_fused_host,     &ladder_reduce_host,    &ladder_roofline_host,  &ladder_streaming_host,
#if WEFT_CUDA
    &ladder_ceiling_cuda,   &ladder_memory_cuda,    &ladder_access_cuda,    &ladder_shared_cuda,
    &ladder_transpose_cuda, &ladder_stencil_cuda,   &ladder_fused_cuda,     &ladder_reduce_cuda,
    &ladder_launch_cuda,    &ladder_constant_cuda,  &ladder_arith_cuda,     &ladder_streams_cuda,
    &ladder_roofline_cuda,  &ladder_streaming_cuda,
#endif
};

const ladder_family *const *ladder_families(int *count)
{
    *count = (int)(sizeof families / sizeof families[0]);
    return families;
}
