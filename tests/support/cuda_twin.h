/* For tests of the CUDA device against the host's: every allocation exists twice, once on each, with the same
 * content; a case does the same on both and then compares whole allocations, padding and ghosts included. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/device.h"

enum { HOST, CUDA, DEVICES };

static device *dev[DEVICES];
static device_stream *stream[DEVICES];

#define OK(i, call)                                                                                      \
    do {                                                                                                 \
        const int code_ = (call);                                                                        \
        if (code_) fail_msg("%s: %s: %s", dev[i]->name, #call, dev[i]->error_text(code_));                \
    } while (0)
#define ON_BOTH for (int i = 0; i < DEVICES; i++)

typedef struct twin {
    size_t bytes;
    void *at[DEVICES];
} twin;

static uint64_t random_state = 1;

static inline uint64_t random_bits(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

/* In [-1, 1), short enough to be exact in f32. */
static inline double random_number(void) { return (double)(int64_t)(random_bits() >> 40) * 0x1p-23 - 1.0; }
static inline int64_t random_below(int64_t n) { return (int64_t)(random_bits() % (uint64_t)n); }

static inline twin twin_of(const void *content, size_t bytes)
{
    twin t = { bytes, { NULL, NULL } };
    ON_BOTH {
        OK(i, dev[i]->alloc(dev[i], DEVICE_MEMORY_DEVICE, bytes, &t.at[i]));
        OK(i, dev[i]->copy(dev[i], t.at[i], content, bytes, stream[i]));
        OK(i, dev[i]->stream_sync(dev[i], stream[i]));
    }
    return t;
}

/* Random numbers of a type in every cell, also in those that nobody should read. */
static inline twin twin_random(dtype type, size_t bytes)
{
    void *content = malloc(bytes);
    assert_non_null(content);
    for (size_t k = 0; k < bytes / dtype_bytes(type); k++)
        if (type == DTYPE_F32) ((float *)content)[k] = (float)random_number();
        else ((double *)content)[k] = random_number() + random_number() * 0x1p-30;
    const twin t = twin_of(content, bytes);
    free(content);
    return t;
}

static inline void twin_free(twin *t)
{
    ON_BOTH OK(i, dev[i]->free(dev[i], DEVICE_MEMORY_DEVICE, t->at[i]));
}

static inline void assert_same(const twin *t, const char *format, ...)
{
    unsigned char *seen = malloc(t->bytes);
    assert_non_null(seen);
    OK(CUDA, dev[CUDA]->copy(dev[CUDA], seen, t->at[CUDA], t->bytes, stream[CUDA]));
    OK(CUDA, dev[CUDA]->stream_sync(dev[CUDA], stream[CUDA]));
    size_t k = 0;
    while (k < t->bytes && seen[k] == ((const unsigned char *)t->at[HOST])[k]) k++;
    free(seen);
    if (k == t->bytes) return;
    char what[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    fail_msg("%s: byte %zu of %zu differs", what, k, t->bytes);
}

/* A test's main: 77 with the reason where there is no GPU. */
static inline int twin_main(int (*run)(void))
{
    const char *why = NULL;
    int code = 0;
    if (device_cuda_count(&why) == 0) {
        printf("skipped: %s\n", why);
        return 77;
    }
    dev[HOST] = device_host_create(0);
    dev[CUDA] = device_cuda_create(0, &code);
    if (!dev[CUDA]) {
        printf("cannot use the GPU: %s\n", device_cuda_error_text(code));
        return 1;
    }
    printf("%s %s, %d and %d MHz, driver %s\n", dev[CUDA]->name, dev[CUDA]->uuid, dev[CUDA]->sm_clock_mhz,
           dev[CUDA]->mem_clock_mhz, dev[CUDA]->driver);
    ON_BOTH if (dev[i]->stream_create(dev[i], false, &stream[i])) return 1;
    const int failed = run();
    ON_BOTH {
        if (dev[i]->stream_destroy(dev[i], &stream[i])) return 1;
        device_destroy(&dev[i]);
    }
    return failed ? 1 : 0;
}
