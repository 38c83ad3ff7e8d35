/* The struct of a streaming device: streaming.c makes it, and streaming_visit.c streams rows through it. */
#pragma once

#include "device/device_host.h"
#include "streaming/streaming.h"

enum { STREAMING_LEVELS = 2, STREAMING_RING = 4, STREAMING_PINNED_MAX = 8 };

typedef struct streaming {
    device_host host; /* comes first: kernels of the host take the device for one */
    device plain;     /* the functions of a host device */
    device *through;
    bool window_made;
    streaming_window window;
    void *memory[STREAMING_LEVELS];                  /* on the computing device, streaming_level_bytes each */
    uint64_t *change, *change_host;        /* on that device, and page-locked on the host */
    device_stream *arrive, *work, *leave;  /* of that device; events by chunk modulo STREAMING_RING */
    device_event *arrived[STREAMING_RING], *led[STREAMING_RING], *worked[STREAMING_RING],
        *left[STREAMING_RING];
    void *pinned[STREAMING_PINNED_MAX];              /* fields */
} streaming;

static inline int streaming_code(const streaming *s, int code)
{
    return code && s->through->kind == DEVICE_CUDA ? STREAMING_CUDA_CODES + code : code;
}

/* Calls a function of the device that computes; returns from the caller on failure. */
#define STREAMING_TRY(s, function, ...)                                                  \
    do {                                                                                 \
        const int code_ = (s)->through->function((s)->through, __VA_ARGS__);             \
        if (code_) return streaming_code(s, code_);                                      \
    } while (0)

/* A visit: temporal_pass of the device. */
DEVICE_FUNCTION(temporal_pass, streaming_visit);
