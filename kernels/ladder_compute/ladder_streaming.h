/* A plane in the host's memory, whose rows are taken through the device, which advances them by several steps
 * of a star: the same on every device. Beyond its sides the plane mirrors, so that passes make all images
 * themselves and rows need none. */
#pragma once

#include "ladder/ladder.h"

enum {
    LADDER_STREAMING_NX,
    LADDER_STREAMING_NY,
    LADDER_STREAMING_RADIUS,
    LADDER_STREAMING_STEPS,
    LADDER_STREAMING_CHUNK_ROWS,
    LADDER_STREAMING_BUFFERS,
    LADDER_STREAMING_PARAMETERS
};
enum { LADDER_STREAMING_RADIUS_MAX = 4, LADDER_STREAMING_BUFFERS_MAX = 4 };
/* The last three are of each buffer. */
enum {
    LADDER_STREAMING_BEGUN,
    LADDER_STREAMING_FROM,
    LADDER_STREAMING_TO,
    LADDER_STREAMING_ARRIVED,
    LADDER_STREAMING_WORKED = LADDER_STREAMING_ARRIVED + LADDER_STREAMING_BUFFERS_MAX,
    LADDER_STREAMING_LEFT = LADDER_STREAMING_WORKED + LADDER_STREAMING_BUFFERS_MAX,
    LADDER_STREAMING_EVENTS = LADDER_STREAMING_LEFT + LADDER_STREAMING_BUFFERS_MAX
};

typedef struct ladder_streaming {
    field_shape plane; /* c->in and c->out, in pinned memory; its rows are as far apart as those of a
                        * buffer */
    stencil op;
    boundary sides;
    int steps;
    int passes;     /* that take them */
    int pass_depth; /* rows and columns beyond a box that the longest of them reads */
    /* how it is cut (ladder_streaming_cut) */
    int64_t chunks, reach; /* reach: rows of others that a chunk brings above and below its own */
    int buffers;
    size_t array_bytes;            /* a buffer has two: passes go to and fro */
    char *memory;                  /* of the device: the buffers */
    device_stream *arrive, *leave; /* c->stream computes */
    device_event *event[LADDER_STREAMING_EVENTS];
    device *streaming; /* of skewed, else NULL: it owns another device of this kind */
} ladder_streaming;
