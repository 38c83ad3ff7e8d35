/* memory on the host: threads, caches, and what memory costs before it is used. The lesson:
 * docs/teaching/memory.md. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "device/device_host.h"
#include "ladder/ladder.h"

enum { BYTES = 0 };
typedef enum way { ONE_THREAD, ALL_THREADS, PAST_CACHES } way;

static int prepare_copy(ladder_case *c)
{
    c->type = DTYPE_F32; /* bytes are bytes */
    c->size = c->value[BYTES];
    c->work = 2 * (double)c->size;
    const int64_t cells = c->size / (int64_t)sizeof(float);
    return ladder_open(c, cells, cells);
}

static int copy(ladder_case *c)
{
    const way w = (way)c->rung->variant;
    char *to = c->out;
    const char *from = c->in;
    const box all = box_make(0, c->size, 0, 1);
    if (w == ONE_THREAD) {
        memcpy(to, from, (size_t)c->size);
        return 0;
    }
#pragma omp parallel num_threads(c->d->threads)
    {
        const box part = device_host_part(all, omp_get_thread_num(), omp_get_num_threads());
        const size_t bytes = (size_t)box_width(part);
        if (w == ALL_THREADS) {
            if (bytes > 0) memcpy(to + part.x0, from + part.x0, bytes);
        } else {
            device_host_stream(to + part.x0, from + part.x0, bytes);
            device_host_stream_end();
        }
    }
    return 0;
}

/* ---- the first touch of fresh pages, by one thread ---- */

static int prepare_touch(ladder_case *c)
{
    c->size = c->value[BYTES];
    c->work = (double)c->size;
    return 0;
}

/* Maps, writes a word to every page, unmaps; *seen gets how many pages were zero before, as fresh ones are.
 * */
static int touch(const ladder_case *c, int64_t *seen)
{
    const size_t bytes = (size_t)c->size, page_bytes = 4096, huge_bytes = (size_t)2 << 20;
    const bool huge = c->rung->variant != 0;
    const size_t mapped = bytes + (huge ? huge_bytes : 0); /* a huge page starts on a multiple of its size */
    char *p = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return errno;
    char *first = huge ? (char *)(((uintptr_t)p + huge_bytes - 1) & ~(uintptr_t)(huge_bytes - 1)) : p;
    /* advice: a kernel without huge pages refuses it */
    (void)madvise(first, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    *seen = 0;
    for (size_t at = 0; at < bytes; at += page_bytes) {
        *seen += first[at] == 0;
        *(volatile char *)(first + at) = 1;
    }
    return munmap(p, mapped) == 0 ? 0 : errno;
}

static int touch_once(ladder_case *c)
{
    int64_t seen;
    return touch(c, &seen);
}

static int verify_touch(ladder_case *c, ladder_verdict *v)
{
    int64_t seen = 0;
    const int64_t pages = (c->size + 4095) / 4096;
    const int code = touch(c, &seen);
    ladder_right(v);
    if (seen != pages)
        ladder_wrong(v, "%lld of %lld fresh pages were zero", (long long)seen, (long long)pages);
    return code;
}

static const int64_t curve[] = { 4 << 10, 64 << 10, 1 << 20, 16 << 20, 128 << 20 };
static const int64_t touched[] = { 64 << 10, 1 << 20, 64 << 20 };

#define COPY(NAME, WHY, VARIANT)                                                                         \
    {                                                                                                    \
        LADDER_ROW(NAME, WHY, prepare_copy, copy, ladder_verify_copy, "copy"), .variant = VARIANT,       \
                                                                               LADDER_SCAN(BYTES, curve) \
    }
#define TOUCH(NAME, WHY, HUGE_PAGES)                                                                      \
    {                                                                                                     \
        LADDER_ROW(NAME, WHY, prepare_touch, touch_once, verify_touch, NULL), .variant = HUGE_PAGES,      \
                                                                              LADDER_SCAN(BYTES, touched) \
    }

static const ladder_rung rungs[] = {
    COPY("oneThread", "a core's own loads and stores", ONE_THREAD),
    COPY("allThreads", "through the caches: targets read first", ALL_THREADS),
    COPY("pastCaches", "whole lines stored, none read first", PAST_CACHES),
    TOUCH("firstTouch", "a fault every 4 KiB", 0),
    TOUCH("firstTouchHuge", "a fault every 2 MiB", 1),
};

static const ladder_parameter parameters[] = {
    { "bytes", 16 << 20, 1024, (int64_t)1 << 34, "of a copy or an allocation" },
};

const ladder_family ladder_memory_host =
    LADDER_FAMILY(DEVICE_HOST, "memory", "threads, caches and pages", NULL, NULL, NULL);
