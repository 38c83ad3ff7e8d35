/* What a streaming device consists of, for its two files: streaming.c, which makes it, and streaming_visit.c,
 * which takes rows through. */
#pragma once

#include "device/device_host.h"
#include "streaming/streaming.h"

enum { STREAMING_LEVELS = 2, STREAMING_RING = 4, STREAMING_PINNED_MAX = 8 };

typedef struct streaming {
    device_host host; /* first: kernels of the host take the device for one */
    device plain;     /* its functions */
    device *through;
    bool window_made;
    streaming_window window;
    void *memory[STREAMING_LEVELS];                  /* of the device that computes, streaming_level_bytes
                                                      * each */
    uint64_t *change, *change_host;        /* there, and pinned */
    device_stream *arrive, *work, *leave;  /* its streams and events, by chunk modulo STREAMING_RING */
    device_event *arrived[STREAMING_RING], *led[STREAMING_RING], *worked[STREAMING_RING],
        *left[STREAMING_RING];
    void *pinned[STREAMING_PINNED_MAX];              /* fields */
} streaming;

static inline int streaming_code(const streaming *s, int code)
{
    return code && s->through->kind == DEVICE_CUDA ? STREAMING_CUDA_CODES + code : code;
}

/* Asks or enqueues on the device that computes; the first failure is the function's answer. */
#define STREAMING_TRY(s, function, ...)                                                  \
    do {                                                                                 \
        const int code_ = (s)->through->function((s)->through, __VA_ARGS__);             \
        if (code_) return streaming_code(s, code_);                                      \
    } while (0)

/* A visit: temporal_pass of the device. */
DEVICE_FUNCTION(temporal_pass, streaming_visit);
