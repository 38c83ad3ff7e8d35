/* Family streaming: its text and its tables, for the host and for GPUs. */
#include "ladder/ladder_families.h"
#include "ladder_compute/ladder_streaming.h"

static const char teaches[] =
    "A plane that does not fit on the device lies in page-locked memory of the host, and its rows are taken "
    "through the device: "
    "in, STEPS time steps further, and out. With B bytes per cell, and L bytes per second each way at the "
    "same time, the bus needs "
    "B / L seconds per cell, however many steps T are taken meanwhile; the device, which takes F steps of a "
    "cell per second, needs "
    "T / F. Where all of this overlaps, a step of a cell takes max(B / (L T), 1 / F) seconds. With few steps "
    "per visit the bus is "
    "the limit, and twice the steps are twice the speed; from T* = B F / L steps on the bus costs nothing, "
    "and more of them gain "
    "nothing.\n"
    "\n"
    "The rate counts every cell once in and once out, for all steps together, whatever is really copied. On "
    "a GPU its ceiling is "
    "`both` of family ceiling, or arithmetic (`fma`), if that allows less; on the host, which has no bus and "
    "does one thing after "
    "the other, the copy or `fma`. Beside it stands what part of the rate of its slowest part a rung "
    "reaches: of the copies in, the "
    "computing and the copies out, each measured alone, with the same chunks, just before. There 1 means "
    "that the other two cost "
    "nothing; a third, that three equal parts wait for each other.\n"
    "\n"
    "Two ways to cut the plane into chunks of C rows. Overlapped tiles: after T steps of radius R a row "
    "depends on T R rows above "
    "and T R below it, so a chunk brings all of these, takes all steps alone and keeps its own rows: C + 2 T "
    "R rows are copied in "
    "for C that leave (`rows brought per row`), and on average C + T R are computed. Skewed tiles: a chunk "
    "that takes fewer rows of "
    "each level than of the one before, those that its own rows are enough for, leaves the rest to the next "
    "chunk, which finds "
    "all it needs on the device: nothing is copied or computed twice, at the price of rows that stay there.\n"
    "\n"
    "How many buffers? A chunk holds its buffer while it arrives, is computed and leaves. With K buffers in "
    "turn a chunk takes at "
    "best the longest of the three parts, and no less than a Kth of their sum.\n"
    "\n"
    "What to expect on a GPU: whole and one buffer are slowest, as the bus is idle in one direction at any "
    "time, and in both while "
    "the device computes. Three buffers win over two where no part is longer than the other two together; a "
    "fourth helps only "
    "where chunks differ. skewed should win over all of them, and by more the larger T R is beside C.\n";

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

#define RUNGS(CEILING, OF_ROWS, OF_STEPS)                                                                    \
    {                                                                                                        \
        { RUNG("whole", "all in, all steps, all out", ladder_streaming_prepare, ladder_streaming_enqueue,    \
               CEILING),                                                                                     \
          .variant = LADDER_STREAMING_WHOLE, .ignores = IGNORES(CHUNK_ROWS) | IGNORES(BUFFERS),              \
          .teaches = "All rows come in, take all steps and leave, on one stream: for planes that fit on "    \
                     "the device, "                                                                          \
                     "twice. Each part waits for the one before, so that a repetition takes the sum of the " \
                     "three." },                                                                             \
            { TILES("buffers", "overlapped tiles, buffers in turn", CEILING), SCANS(BUFFERS, buffers),       \
              .teaches =                                                                                     \
                  "Chunks with the rows that they need of others, a stream for each of the three parts, "    \
                  "and events "                                                                              \
                  "between them: computing waits until its rows are there, leaving until all steps are "     \
                  "taken, and "                                                                              \
                  "arriving until the results of the chunk that had the buffer have left. With one buffer "  \
                  "nothing "                                                                                 \
                  "overlaps, and it is slower than whole by the rows that are brought twice. With two a "    \
                  "chunk is "                                                                                \
                  "computed while another one moves; only with three do all three parts go on at once." },   \
            { TILES("chunks", "the same, more or fewer rows at a time", CEILING),                            \
              SCANS(CHUNK_ROWS, OF_ROWS),                                                                    \
              .teaches = "Small chunks lose by what they bring twice, 2 T R rows each, and by the latency "  \
                         "of many copies "                                                                   \
                         "and launches; large ones by the beginning and the end, where the first chunk "     \
                         "arrives and the "                                                                  \
                         "last one leaves while nothing else goes on. Between them lies a flat optimum." },  \
            { RUNG("skewed", "weft's own: nothing sent twice", ladder_streaming_skewed_prepare,              \
                   ladder_streaming_skewed_enqueue, CEILING),                                                \
              SCANS(STEPS, OF_STEPS), .ignores = IGNORES(BUFFERS),                                           \
              .teaches = "The device that runs use for fields larger than a GPU (kernels/streaming): "       \
                         "skewed tiles in four "                                                             \
                         "slots. The rate stays that of the bus while the steps are fewer than T*, so that " \
                         "each further "                                                                     \
                         "step is free; beyond it falls as 1 / T, which is a constant time per step. Its "   \
                         "first and last "                                                                   \
                         "chunks are small, so that little time passes before all three parts go on." },     \
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
        .rungs = sizeof RUNGS_OF / sizeof RUNGS_OF[0], .teaches = teaches                               \
    }

const ladder_family ladder_streaming_host = FAMILY(DEVICE_HOST, host_parameters, host_rungs);
const ladder_family ladder_streaming_cuda = FAMILY(DEVICE_CUDA, cuda_parameters, cuda_rungs);
