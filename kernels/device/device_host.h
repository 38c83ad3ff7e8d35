/* The host device's kernels, one file per subject; device_host.c puts them into the struct, whose members
 * have their signatures (device.h: DEVICE_KERNELS).
 *
 * Every kernel divides its boxes among the threads with device_host_part, so that the thread that first wrote
 * a row, and owns its pages, works on it ever after. DEVICE_HOST_CLONES functions compute rows: the x86-64
 * baseline has no fma instruction, and a call of libm's fma is twenty times slower; the bits are the same.
 * There are no clones with ThreadSanitizer, which is not set up yet when the program's start chooses among
 * them. */
#pragma once

#include <omp.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "core/fp.h"
#include "device/device.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#if __GNUC__ >= 12
#define DEVICE_HOST_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else /* chosen by single features, because arch=haswell stands for Intel's processors alone */
#define DEVICE_HOST_CLONES __attribute__((target_clones("avx512f", "fma", "default")))
#endif
#else
#define DEVICE_HOST_CLONES
#endif

typedef struct device_host {
    device base; /* first member: a device * of kind DEVICE_HOST points here */
    stencil op;  /* as bound */
    float weight_f32[STENCIL_WEIGHTS_MAX];
    size_t first_cache_bytes; /* L1 data cache of a core */
    size_t near_cache_bytes;  /* L2 cache of a core */
    size_t far_cache_bytes;   /* all last-level caches that the threads can fill */
} device_host;

/* Simulated time (device_sim.c): names the rates of a host device; lets a call take that of a launch and of
 * the bytes that it moves. Builds without SIM=1 do nothing. */
void device_sim_model(device *d);
#if WEFT_SIM
void device_sim_take(double bytes);
#else
static inline void device_sim_take(double bytes) {}
#endif

/* Below this many cells a team costs more to wake than it saves. */
enum { DEVICE_HOST_TEAM_CELLS = 16384 };

/* Threads for a kernel on `cells` cells, which begins here. Inside a parallel region the calling thread works
 * alone, because each thread then serves one stream. moved_bytes: of a call that takes simulated time; 0: of
 * the set-up and the verdict, which take none. */
static inline int device_host_team(const device *d, int64_t cells, double moved_bytes)
{
    if (moved_bytes > 0) device_sim_take(moved_bytes);
    if (cells >= DEVICE_HOST_TEAM_CELLS) fp_default();
    return cells < DEVICE_HOST_TEAM_CELLS || omp_in_parallel() ? 1 : d->threads;
}

/* Bytes of that number of words of each cell. */
static inline double device_host_moved(dtype t, int words, int64_t cells)
{
    return (double)words * (double)dtype_bytes(t) * (double)cells;
}

/* The thread's share of a box: a strip of rows. If rows are too few to share evenly (one, in 1D), it is a
 * piece of every row, cut on multiples of 128 cells (or bytes), so that no two threads write to one cache
 * line. */
static inline box device_host_part(box b)
{
    const int index = omp_get_thread_num(), count = omp_get_num_threads();
    if (count > 1) fp_default();
    const int64_t width = box_width(b), line_cells = FIELD_ALIGN_BYTES;
    if (box_height(b) >= 8 * (int64_t)count || width < 2 * line_cells * count)
        return box_strip(b, index, count);
    const int64_t low = (b.x0 + width * index / count) & -line_cells;
    const int64_t high = (b.x0 + width * (index + 1) / count) & -line_cells;
    return box_make(index == 0 ? b.x0 : low, index == count - 1 ? b.x1 : high, b.y0, b.y1);
}

/* memcpy that writes whole cache lines past the caches, so that no line is read only to be overwritten. The
 * caller calls device_host_stream_end before another thread reads the target. */
enum { DEVICE_HOST_LINE_BYTES = 64 };
#if defined(__SSE2__)
static inline void device_host_stream(void *restrict to, const void *restrict from, size_t bytes)
{
    char *out = to;
    const char *in = from;
    const size_t lead_bytes = -(uintptr_t)out & (DEVICE_HOST_LINE_BYTES - 1);
    size_t i = lead_bytes < bytes ? lead_bytes : bytes;
    if (i > 0) memcpy(out, in, i);
    const size_t end = i + ((bytes - i) & -(size_t)DEVICE_HOST_LINE_BYTES);
    for (; i < end; i += sizeof(__m128i))
        _mm_stream_si128((__m128i *)(void *)(out + i),
                         _mm_loadu_si128((const __m128i *)(const void *)(in + i)));
    if (i < bytes) memcpy(out + i, in + i, bytes - i);
}
static inline void device_host_stream_end(void) { _mm_sfence(); }
#else
static inline void device_host_stream(void *restrict to, const void *restrict from, size_t bytes)
{
    memcpy(to, from, bytes);
}
static inline void device_host_stream_end(void) {}
#endif

/* Prefetches the lines of `bytes` at `from` + ahead into L2, or on into L1; any address is harmless. */
static inline __attribute__((always_inline)) void
device_host_prefetch(const void *from, ptrdiff_t ahead_bytes, size_t bytes, bool to_l2)
{
    const uintptr_t at = (uintptr_t)from + (uintptr_t)ahead_bytes, line = DEVICE_HOST_LINE_BYTES;
    if (to_l2)
        for (uintptr_t i = at & -line; i < at + bytes; i += line) __builtin_prefetch((const void *)i, 0, 2);
    else
        for (uintptr_t i = at & -line; i < at + bytes; i += line) __builtin_prefetch((const void *)i);
}

DEVICE_KERNELS(DEVICE_DECLARED, host)
/* Contribution of contiguous cells, the first of them at `linear` of the global field. */
uint64_t fingerprint_host_row(dtype t, const void *row, uint64_t linear, int64_t cells);
uint64_t change_host_row(dtype t, const void *a, const void *b, int64_t cells);
