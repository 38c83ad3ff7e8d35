/* A host device whose memory is files without names, which travel between ranks as descriptors do: for tests
 * of memory that neighbours map. Pinned memory, and what the device gave out before, stays its own. The table
 * of files is for one thread, as shared memory is; where kernels allocate in threads of their own, DEVICE
 * memory stays the device's too. */
#pragma once

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device/device.h"
#include "device/passed_fd.h"

enum { FILE_MEMORY_MAX = 256 };

static struct {
    struct {
        void *at;
        size_t bytes;
        int fd;
    } file[FILE_MEMORY_MAX];
    bool device_too; /* DEVICE memory, besides SHARED */
    __typeof__(((device *)0)->alloc) alloc;
    __typeof__(((device *)0)->free) free;
} file_memory;

/* -1: it is no file's. */
static inline int file_memory_find(const void *at)
{
    for (int i = 0; i < FILE_MEMORY_MAX; i++)
        if (file_memory.file[i].at == at) return i;
    return -1;
}

/* The table has the address until it is unmapped. */
static inline void *file_memory_map(int fd, size_t bytes)
{
    const int i = file_memory_find(NULL);
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (i < 0 || at == MAP_FAILED) abort();
    file_memory.file[i].at = at;
    file_memory.file[i].bytes = bytes;
    file_memory.file[i].fd = fd;
    return at;
}

static inline bool file_memory_has(device_memory where)
{
    return where == DEVICE_MEMORY_SHARED || (where == DEVICE_MEMORY_DEVICE && file_memory.device_too);
}

/* Something stood there before. */
static inline int file_memory_alloc(device *d, device_memory where, size_t bytes, void **out)
{
    if (!file_memory_has(where)) return file_memory.alloc(d, where, bytes, out);
    const int fd = memfd_create("memory", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0) return errno;
    *out = file_memory_map(fd, bytes);
    memset(*out, 255, bytes);
    return 0;
}

static inline int file_memory_unmap(device *d, device_memory where, void *p)
{
    const int i = file_memory_find(p);
    file_memory.file[i].at = NULL;
    return munmap(p, file_memory.file[i].bytes) || close(file_memory.file[i].fd) ? errno : 0;
}

static inline int file_memory_free(device *d, device_memory where, void *p)
{
    return !file_memory_has(where) || file_memory_find(p) < 0 ? file_memory.free(d, where, p)
                                                              : file_memory_unmap(d, where, p);
}

static inline int file_memory_make(device *d, device_memory where, void *allocation, device_handle *out)
{
    const int i = file_memory_find(allocation);
    *out = (device_handle){ .fd = passed_fd_offer(dup(file_memory.file[i].fd)),
                            .mapped_bytes = file_memory.file[i].bytes };
    return 0;
}

static inline void file_memory_done(device *d, device_handle *made) { passed_fd_done(&made->fd); }

static inline int file_memory_open(device *d, device_memory where, const device_handle *h, void **out)
{
    const int fd = passed_fd_take(&h->fd);
    if (fd < 0) return errno;
    *out = file_memory_map(fd, h->mapped_bytes);
    return 0;
}

static inline void file_memory_give(device *d, bool device_too)
{
    file_memory.device_too = device_too;
    file_memory.alloc = d->alloc;
    file_memory.free = d->free;
    d->unshared = NULL;
    d->alloc = file_memory_alloc;
    d->free = file_memory_free;
    d->handle_make = file_memory_make;
    d->handle_done = file_memory_done;
    d->handle_open = file_memory_open;
    d->handle_close = file_memory_unmap;
}
