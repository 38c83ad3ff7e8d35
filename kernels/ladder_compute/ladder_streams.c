/* The host's part of family streams (ladder_streams.h). */
#include "core/cell.h"
#include "device/device_host.h"
#include "ladder_compute/ladder_streams.h"

/* A warp's worth of independent chains in vector registers. */
#define DEFINE_CHAIN(CELL, SUFFIX)                                                                      \
    DEVICE_HOST_CLONES                                                                                  \
    static void chain##SUFFIX(CELL *data, int64_t steps, CELL summand)                                  \
    {                                                                                                   \
        CELL x[LADDER_STREAMS_WARP];                                                                    \
        for (int k = 0; k < LADDER_STREAMS_WARP; k++) x[k] = data[k];                                   \
        for (int64_t i = 0; i < steps; i++)                                                             \
            for (int k = 0; k < LADDER_STREAMS_WARP; k++) x[k] = cell_fma##SUFFIX(x[k], x[k], summand); \
        for (int k = 0; k < LADDER_STREAMS_WARP; k++) data[k] = x[k];                                   \
    }
DEFINE_CHAIN(float, _f32)
DEFINE_CHAIN(double, _f64)

void ladder_streams_host_chain(dtype t, void *data, int64_t cells, int64_t steps, int turn)
{
    const double summand = ladder_streams_summand(turn);
    for (int64_t i = 0; i < cells; i += LADDER_STREAMS_WARP) switch (t) {
        case DTYPE_F32: chain_f32((float *)data + i, steps, (float)summand); break;
        case DTYPE_F64: chain_f64((double *)data + i, steps, summand); break;
        }
}
