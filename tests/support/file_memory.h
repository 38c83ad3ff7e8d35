/* A host device whose memory is files without names, which other ranks open through /proc: for tests of
 * memory that neighbours map. Pinned memory, and what the device gave out before, stays its own. All files
 * are mapped into one range of addresses; in front of each a page has its length and its owner's descriptor.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device/device.h"

#define FILE_MEMORY_RANGE_BYTES ((size_t)1 << 38)
enum { FILE_MEMORY_PAGE = 4096 };
typedef struct file_memory_head {
    size_t bytes; /* with the page */
    int fd;
} file_memory_head;

static char *file_memory_begin;
static _Atomic(char *) file_memory_next;
static __typeof__(((device *)0)->alloc) file_memory_alloc_other;
static __typeof__(((device *)0)->free) file_memory_free_other;

static inline file_memory_head *file_memory_of(void *at)
{
    return (file_memory_head *)((char *)at - FILE_MEMORY_PAGE);
}

static inline void *file_memory_map(int fd, size_t bytes)
{
    const size_t pages = (bytes + FILE_MEMORY_PAGE - 1) / FILE_MEMORY_PAGE;
    char *const at = atomic_fetch_add(&file_memory_next, pages * FILE_MEMORY_PAGE);
    if (mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) abort();
    return at + FILE_MEMORY_PAGE;
}

/* Other values stood there before. */
static inline int file_memory_alloc(device *d, device_memory where, size_t bytes, void **out)
{
    if (where != DEVICE_MEMORY_DEVICE) return file_memory_alloc_other(d, where, bytes, out);
    const size_t all = bytes + FILE_MEMORY_PAGE;
    const int fd = memfd_create("memory", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)all) != 0) return errno;
    *out = file_memory_map(fd, all);
    *file_memory_of(*out) = (file_memory_head){ all, fd };
    memset(*out, 255, bytes);
    return 0;
}

static inline void *file_memory_reserve(void *at, size_t bytes, int flags)
{
    return mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
}

/* The range keeps the addresses: memory of others would look like its own. */
static inline int file_memory_unmap(device *d, void *p)
{
    file_memory_head *const at = file_memory_of(p);
    return file_memory_reserve(at, at->bytes, MAP_FIXED) == MAP_FAILED ? errno : 0;
}

static inline int file_memory_free(device *d, device_memory where, void *p)
{
    const bool ours = (char *)p >= file_memory_begin && (char *)p < file_memory_next;
    if (!ours) return file_memory_free_other(d, where, p);
    close(file_memory_of(p)->fd);
    return file_memory_unmap(d, p);
}

/* The handle is the file's path. */
static inline int file_memory_make(device *d, void *allocation, device_handle *out)
{
    snprintf((char *)out->bytes, sizeof out->bytes, "/proc/%d/fd/%d", (int)getpid(),
             file_memory_of(allocation)->fd);
    return 0;
}

static inline int file_memory_open(device *d, const device_handle *h, void **out)
{
    const int fd = open((const char *)h->bytes, O_RDWR | O_CLOEXEC);
    if (fd < 0) return errno;
    *out = file_memory_map(fd, (size_t)lseek(fd, 0, SEEK_END));
    close(fd);
    return 0;
}

static inline void file_memory_give(device *d)
{
    if (!file_memory_begin)
        file_memory_next = file_memory_begin = file_memory_reserve(NULL, FILE_MEMORY_RANGE_BYTES, 0);
    file_memory_alloc_other = d->alloc;
    file_memory_free_other = d->free;
    d->unshared = NULL;
    d->alloc = file_memory_alloc;
    d->free = file_memory_free;
    d->handle_make = file_memory_make;
    d->handle_open = file_memory_open;
    d->handle_close = file_memory_unmap;
}
