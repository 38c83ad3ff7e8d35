/* For tests of one device against another: every allocation exists twice, on the device that answers and on
 * the one that is tested, with the same content; a case does the same on both and then compares whole
 * allocations, padding and ghosts included. */
#pragma once

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/host_field.h"

enum { ANSWER, TESTED, DEVICES };

static device *dev[DEVICES];
static device_stream *stream[DEVICES];

/* Calls a function of device i, which must succeed. */
#define DO(i, function, ...)                                                                          \
    do {                                                                                              \
        const int code_ = dev[i]->function(dev[i], __VA_ARGS__);                                      \
        if (code_) fail_msg("%s: %s: %s", dev[i]->name, #function, dev[i]->error_text(code_));        \
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
static inline int64_t any(int64_t low, int64_t high) { return low + random_below(high - low + 1); }

/* Binds a stencil with random weights on both; beta 0: of one level. Magnitudes add up to 1, so that fields
 * neither grow without bound nor die away in a hundred steps. */
static inline stencil bind_random(stencil_form form, int radius, dtype type, double beta)
{
    stencil op = { .form = form, .radius = radius, .type = type, .has_prev = beta != 0 };
    const int n = stencil_weights(form, radius);
    double sum = 0;
    for (int k = 0; k < n; k++) sum += fabs(op.weight[k] = random_number());
    for (int k = 0; k < n; k++) op.weight[k] = host_field_rounded(type, op.weight[k] / sum);
    op.beta = host_field_rounded(type, beta);
    ON_BOTH DO(i, stencil_bind, &op);
    return op;
}

/* Copies to a device, and from one. */
static inline void put(int i, void *to, const void *content, size_t bytes)
{
    DO(i, copy, to, content, bytes, stream[i]);
    DO(i, stream_sync, stream[i]);
}

static inline void *get(int i, const void *from, size_t bytes)
{
    void *seen = malloc(bytes);
    assert_non_null(seen);
    DO(i, copy, seen, from, bytes, stream[i]);
    DO(i, stream_sync, stream[i]);
    return seen;
}

static inline twin twin_of(const void *content, size_t bytes)
{
    twin t = { bytes, { NULL, NULL } };
    ON_BOTH {
        DO(i, alloc, DEVICE_MEMORY_DEVICE, bytes, &t.at[i]);
        put(i, t.at[i], content, bytes);
    }
    return t;
}

static inline void fill_random(dtype type, void *content, size_t bytes)
{
    for (size_t k = 0; k < bytes / dtype_bytes(type); k++)
        cell_set(type, content, (int64_t)k,
                 type == DTYPE_F32 ? random_number() : random_number() + random_number() * 0x1p-30);
}

/* Random numbers of a type in every cell, also in those that nothing should read. */
static inline twin twin_random(dtype type, size_t bytes)
{
    void *content = malloc(bytes);
    assert_non_null(content);
    fill_random(type, content, bytes);
    const twin t = twin_of(content, bytes);
    free(content);
    return t;
}

static inline void twin_free(twin *t) { ON_BOTH DO(i, free, DEVICE_MEMORY_DEVICE, t->at[i]); }

__attribute__((format(printf, 2, 3))) static inline void assert_same(const twin *t, const char *format, ...)
{
    unsigned char *seen = get(TESTED, t->at[TESTED], t->bytes);
    size_t k = memcmp(seen, t->at[ANSWER], t->bytes) == 0 ? t->bytes : 0;
    while (k < t->bytes && seen[k] == ((const unsigned char *)t->at[ANSWER])[k]) k++;
    free(seen);
    if (k == t->bytes) return;
    char what[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    fail_msg("%s: %s: byte %zu of %zu differs", dev[TESTED]->name, what, k, t->bytes);
}

/* Runs the tests with these two devices, which then are no more. */
static inline int twin_run(device *answer, device *tested, int (*run)(void))
{
    dev[ANSWER] = answer, dev[TESTED] = tested;
    ON_BOTH DO(i, stream_create, false, &stream[i]);
    const int failed = run();
    ON_BOTH {
        DO(i, stream_destroy, &stream[i]);
        device_destroy(&dev[i]);
    }
    return failed ? 1 : 0;
}

/* The GPU; NULL with the reason where there is none. */
static inline device *twin_gpu(const char **why)
{
    int code = 0;
    if (device_cuda_count(why) == 0) return NULL;
    device *gpu = device_cuda_create(0, &code);
    if (!gpu) {
        printf("cannot use the GPU: %s\n", device_cuda_error_text(code));
        exit(1);
    }
    printf("%s %s, %d and %d MHz, driver %s\n", gpu->name, gpu->uuid, gpu->sm_clock_mhz, gpu->mem_clock_mhz,
           gpu->driver);
    return gpu;
}
