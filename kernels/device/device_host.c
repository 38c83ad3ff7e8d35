/* The host as a device: OpenMP threads over ordinary memory.
 *
 * Work runs at once, in the calling thread's team, so a stream is only a name and an event a time stamp:
 * everything recorded is done, and a wait returns at once. alloc does not touch memory: the kernel that first
 * writes a row places its pages (device_host_part). Codes are errno's values.
 *
 * Debug builds fill new memory with 0xff bytes, NaN in both types, so that a ghost that was never filled
 * shows. */
#include "device/device_host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "device/host_limits.h"
#include "device/sysfs.h"

struct device_event {
    struct timespec recorded;
};

enum { HUGE_PAGE_BYTES = 1 << 21 };

/* ---- properties of the machine ---- */

/* "AMD EPYC 9654", or the maker's numbers: "arm 0x41 0xd4f". */
static void processor_name(char *name, size_t bytes)
{
    static const char file[] = "/proc/cpuinfo";
    char maker[32], part[32];
    if (sysfs_value(name, bytes, file, "model name") && name[0]) return;
    (void)sysfs_value(maker, sizeof maker, file, "CPU implementer");
    if (sysfs_value(part, sizeof part, file, "CPU part")) snprintf(name, bytes, "arm %s %s", maker, part);
    else snprintf(name, bytes, "host CPU");
}

static const char caches[] = "/sys/devices/system/cpu/cpu0/cache";

/* A cache of CPU 0 as Linux describes it, or the usual size. sysconf is no help: glibc 2.36 reports the sum
 * of all L3 slices of an AMD socket as one cache, twelve times what a core can fill. */
static size_t cache_bytes(int index, size_t usual_kib)
{
    char text[32];
    const bool told = sysfs_read(text, sizeof text, "%s/index%d/size", caches, index);
    const size_t kib = told ? strtoul(text, NULL, 10) : 0;
    return (kib > 0 ? kib : usual_kib) * 1024;
}

static void measure_caches(device_host *h)
{
    char list[512];                            /* of the CPUs that share the last cache */
    h->first_cache_bytes = cache_bytes(0, 32); /* index1 caches instructions */
    h->near_cache_bytes = cache_bytes(2, 512);
    h->far_cache_bytes = cache_bytes(3, 32 << 10);
    (void)sysfs_read(list, sizeof list, "%s/index3/shared_cpu_list", caches);
    const cpu_set_t sharers = sysfs_cpus(list);
    const int sharing = CPU_COUNT(&sharers);
    if (sharing > 0 && h->base.threads > sharing)
        h->far_cache_bytes *= (size_t)((h->base.threads + sharing - 1) / sharing);
}

static int memory_info(device *d, size_t *free_bytes, size_t *total_bytes)
{
    const host_limits l = host_limits_here();
    *total_bytes = (size_t)l.total_bytes;
    *free_bytes = (size_t)l.free_bytes;
    return 0;
}

static const char *error_text(int code) { return strerror(code); }

/* ---- memory ---- */

static int host_alloc(device *d, device_memory where, size_t bytes, void **out)
{
    (void)where; /* both kinds are ordinary memory here */
    const size_t align_bytes = bytes >= HUGE_PAGE_BYTES ? HUGE_PAGE_BYTES : FIELD_ALIGN_BYTES;
    *out = NULL;
    if (bytes > SIZE_MAX - align_bytes) return ENOMEM;
    const size_t whole_bytes = (bytes + align_bytes - 1) & ~(align_bytes - 1);
    void *p = aligned_alloc(align_bytes, whole_bytes > 0 ? whole_bytes : align_bytes);
    if (!p) return ENOMEM;
    /* Advice only: a kernel without huge pages refuses it, and small pages are merely slower. */
    if (align_bytes == HUGE_PAGE_BYTES) (void)madvise(p, whole_bytes, MADV_HUGEPAGE);
#ifdef WEFT_DEBUG
    memset(p, 0xff, bytes);
#endif
    *out = p;
    return 0;
}

static int host_free(device *d, device_memory where, void *p)
{
    free(p);
    return 0;
}

/* ---- streams and events ---- */

/* Every call is done when it returns. */
static int is_done(device *d) { return 0; }

static int stream_create(device *d, bool high_priority, device_stream **out)
{
    static uintptr_t name; /* each has its own: deferred_device.h of the tests tells streams apart by it */
    *out = (device_stream *)++name;
    return 0;
}

static int stream_destroy(device *d, device_stream **s)
{
    *s = NULL;
    return 0;
}

static int stream_sync(device *d, device_stream *s) { return 0; }

static int event_create(device *d, bool timed, device_event **out)
{
    *out = calloc(1, sizeof **out);
    return *out ? 0 : ENOMEM;
}

static int event_destroy(device *d, device_event **e)
{
    free(*e);
    *e = NULL;
    return 0;
}

static int event_record(device *d, device_event *e, device_stream *s)
{
    return clock_gettime(CLOCK_MONOTONIC, &e->recorded) != 0 ? errno : 0;
}

static int event_wait(device *d, device_event *e, device_stream *s) { return 0; }

static int event_sync(device *d, device_event *e) { return 0; }

static int event_done(device *d, device_event *e, bool *done)
{
    *done = true;
    return 0;
}

static int event_seconds(device *d, device_event *from, device_event *to, double *seconds)
{
    *seconds = (double)(to->recorded.tv_sec - from->recorded.tv_sec) +
               1e-9 * (double)(to->recorded.tv_nsec - from->recorded.tv_nsec);
    return 0;
}

/* ---- copies ---- */

/* Copies rows of bytes; one long row is shared out as lines. This copy is the ceiling of all rates. */
static int host_copy_rows(device *d, void *to, size_t to_pitch_bytes, const void *from,
                          size_t from_pitch_bytes, size_t row_bytes, size_t rows, device_stream *s)
{
    const device_host *h = (const device_host *)d;
    const box all = box_make(0, (int64_t)row_bytes, 0, (int64_t)rows);
    const int team = device_host_team(d, box_cells(all) / 8, 2.0 * (double)(row_bytes * rows));
    const bool stream = 2 * row_bytes * rows > h->far_cache_bytes;
#pragma omp parallel num_threads(team) if (team > 1)
    {
        const box part = device_host_part(all);
        const size_t width = (size_t)box_width(part), x0 = (size_t)part.x0;
        for (size_t y = (size_t)part.y0; width > 0 && y < (size_t)part.y1; y++) {
            char *out = (char *)to + y * to_pitch_bytes + x0;
            const char *in = (const char *)from + y * from_pitch_bytes + x0;
            if (stream) device_host_stream(out, in, width);
            else memcpy(out, in, width);
        }
        if (stream) device_host_stream_end();
    }
    return 0;
}

static int host_fill_bytes(device *d, void *to, int byte, size_t bytes, device_stream *s)
{
    const box all = box_make(0, (int64_t)bytes, 0, 1);
    const int team = device_host_team(d, (int64_t)(bytes / 8), 0);
#pragma omp parallel num_threads(team) if (team > 1)
    {
        const box part = device_host_part(all);
        if (!box_empty(part)) memset((char *)to + part.x0, byte, (size_t)box_width(part));
    }
    return 0;
}

static int host_copy(device *d, void *to, const void *from, size_t bytes, device_stream *s)
{
    return host_copy_rows(d, to, bytes, from, bytes, bytes, 1, s);
}

/* ---- the host lacks: other processes cannot map its heap, and its work runs when it is called ---- */

static bool inkernel_can(device *d, bool change) { return false; }

static size_t persistent_bytes(device *d, const field_shape *f, const boundary *sides, bool cut) { return 0; }

/* ---- the device ---- */

static void destroy(device **self)
{
    free(*self);
    *self = NULL;
}

device *device_host_create(int threads)
{
    device_host *h = calloc(1, sizeof *h);
    if (!h) abort(); /* a few kilobytes, before anything else was allocated */
    h->base = (device){
        .kind = DEVICE_HOST,
        .threads = threads > 0 ? threads : omp_get_max_threads(),
        .bind_thread = is_done,
        .synchronize = is_done,
        .alloc = host_alloc,
        .free = host_free,
        .no_graphs = "the host device runs work at once and has no graphs",
        .unshared = "the host device shares no memory between ranks",
        .copy = host_copy,
        .copy_rows = host_copy_rows,
        .fill_bytes = host_fill_bytes,
        .stencil_inkernel_can = inkernel_can,
        DEVICE_OWN(destroy) DEVICE_OWN(error_text) DEVICE_OWN(memory_info)
        DEVICE_OWN(stream_create) DEVICE_OWN(stream_destroy) DEVICE_OWN(stream_sync)
        DEVICE_OWN(event_create) DEVICE_OWN(event_destroy) DEVICE_OWN(event_record) DEVICE_OWN(event_wait)
        DEVICE_OWN(event_sync) DEVICE_OWN(event_done) DEVICE_OWN(event_seconds) DEVICE_OWN(persistent_bytes)
        DEVICE_KERNELS(DEVICE_SET, host)
    };
    processor_name(h->base.name, sizeof h->base.name);
    measure_caches(h);
    device_sim_model(&h->base);
    return &h->base;
}
