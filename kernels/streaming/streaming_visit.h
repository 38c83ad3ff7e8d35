/* The streaming device from within: what a visit and the device share. Private to this folder. */
#pragma once

#include "device/device_host.h"
#include "streaming/streaming.h"

enum { STREAMING_LEVELS = 2, RING = 4 };
enum { ARRIVE, WORK, LEAVE, STREAMS };
enum { ARRIVED, LED, WORKED, LEFT, EVENTS };

typedef struct streaming {
    device_host host; /* comes first: kernels of the host take the device for one */
    device plain;     /* the functions of a host device */
    device *through;
    int failed;                     /* the first error of a call of it */
    streaming_window window;        /* slots of no rows: there is none */
    /* of the computing device: */
    void *memory[STREAMING_LEVELS]; /* streaming_level_bytes each */
    uint64_t *change;
    device_stream *stream[STREAMS];
    device_event *event[EVENTS][RING]; /* by chunk modulo RING */
} streaming;

/* Calls a function of the device that computes, unless one has failed. */
#define CALL(s, function, ...)                                                             \
    do {                                                                                   \
        if (!(s)->failed) (s)->failed = (s)->through->function((s)->through, __VA_ARGS__); \
    } while (0)

/* A code of the computing device, as one of this device. */
static inline int streaming_code_here(const streaming *s, int code)
{
    return code && s->through->kind == DEVICE_CUDA ? STREAMING_CUDA_CODES + code : code;
}

/* The error of the calls since it was last asked. */
static inline int streaming_code(streaming *s)
{
    const int code = s->failed;
    s->failed = 0;
    return streaming_code_here(s, code);
}

/* temporal_pass of the device. */
int streaming_visit(device *d, const temporal_call *call, device_stream *stream);
