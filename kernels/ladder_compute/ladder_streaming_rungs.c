/* Family streaming: its text and its tables, for the host and for GPUs. */
#include "ladder/ladder_families.h"
#include "ladder_compute/ladder_streaming.h"

static const int64_t buffers[] = { 1, 2, 4, 3 };
static const int64_t host_rows[] = { 16, 32, 64, 256, 512, 128 },
                     cuda_rows[] = { 128, 256, 512, 2048, 4096, 1024 };
static const int64_t host_steps[] = { 4, 8, 32, 64, 16 }, cuda_steps[] = { 16, 32, 128, 256, 512, 64 };

#define IGNORES(PARAMETER) (1u << LADDER_STREAMING_##PARAMETER)
#define SCANS(PARAMETER, VALUES)                                                          \
    .scan = LADDER_STREAMING_##PARAMETER, .scan_count = sizeof VALUES / sizeof VALUES[0], \
    .scan_values = VALUES
#define RUNG(NAME, WHY, PREPARE, ENQUEUE, CEILING)                                                       \
    .name = NAME, .why = WHY, .prepare = PREPARE, .enqueue = ENQUEUE, .verify = ladder_streaming_verify, \
    .destroy = ladder_streaming_destroy, .unit = LADDER_BYTES, .clock = LADDER_CLOCK_HOST,               \
    .ceiling = CEILING
#define TILES(NAME, WHY, CEILING)                                                 \
    RUNG(NAME, WHY, ladder_streaming_prepare, ladder_streaming_enqueue, CEILING), \
        .variant = LADDER_STREAMING_TILES

#define RUNGS(CEILING, OF_ROWS, OF_STEPS)                                                                 \
    {                                                                                                     \
        { RUNG("whole", "all in, all steps, all out", ladder_streaming_prepare, ladder_streaming_enqueue, \
               CEILING),                                                                                  \
          .variant = LADDER_STREAMING_WHOLE, .ignores = IGNORES(CHUNK_ROWS) | IGNORES(BUFFERS) },         \
            { TILES("buffers", "overlapped tiles, buffers in turn", CEILING), SCANS(BUFFERS, buffers) },  \
            { TILES("chunks", "the same, more or fewer rows at a time", CEILING),                         \
              SCANS(CHUNK_ROWS, OF_ROWS) },                                                               \
            { RUNG("skewed", "weft's own: nothing sent twice", ladder_streaming_skewed_prepare,           \
                   ladder_streaming_skewed_enqueue, CEILING),                                             \
              SCANS(STEPS, OF_STEPS), .ignores = IGNORES(BUFFERS) },                                      \
    }

static const ladder_rung host_rungs[] = RUNGS("copy", host_rows, host_steps);
static const ladder_rung cuda_rungs[] = RUNGS("both", cuda_rows, cuda_steps);

#define PARAMETERS(CELLS, STEPS, ROWS)                                                    \
    {                                                                                     \
        { "nx", CELLS, LADDER_STREAMING_RADIUS_MAX, 1000000, "cells along x" },           \
            { "ny", CELLS, LADDER_STREAMING_RADIUS_MAX, 1000000, "rows" },                \
            { "radius", 1, 1, LADDER_STREAMING_RADIUS_MAX, "of the star" },               \
            { "steps", STEPS, 1, 1024, "time steps of a visit" },                         \
            { "chunk_rows", ROWS, 1, 1000000, "own rows of a chunk, at most" },           \
            { "buffers", 3, 1, LADDER_STREAMING_BUFFERS_MAX, "that chunks use in turn" }, \
    }

static const ladder_parameter host_parameters[LADDER_STREAMING_PARAMETERS] = PARAMETERS(2048, 16, 128);
static const ladder_parameter cuda_parameters[LADDER_STREAMING_PARAMETERS] = PARAMETERS(8192, 64, 1024);

#define FAMILY(KIND, PARAMETERS_OF, RUNGS_OF)                                                           \
    {                                                                                                   \
        .kind = KIND, .name = "streaming", .shows = "a plane in host memory, taken through the device", \
        .type_name = { "f32", "f64" }, .parameter = PARAMETERS_OF,                                      \
        .parameters = LADDER_STREAMING_PARAMETERS, .rung = RUNGS_OF,                                    \
        .rungs = sizeof RUNGS_OF / sizeof RUNGS_OF[0]                                                   \
    }

const ladder_family ladder_streaming_host = FAMILY(DEVICE_HOST, host_parameters, host_rungs);
const ladder_family ladder_streaming_cuda = FAMILY(DEVICE_CUDA, cuda_parameters, cuda_rungs);
