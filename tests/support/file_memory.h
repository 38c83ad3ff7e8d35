/* A host device whose memory is files without names, which other ranks open through /proc: for tests of
 * memory that neighbours map. Pinned memory, and what the device gave out before, stays its own. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device/device.h"

enum { FILE_MEMORY_MAX = 256 };

static struct {
    struct {
        void *at;
        size_t bytes;
        int fd;
    } file[FILE_MEMORY_MAX];
    __typeof__(((device *)0)->alloc) alloc;
    __typeof__(((device *)0)->free) free;
    pthread_mutex_t table;
} file_memory = { .table = PTHREAD_MUTEX_INITIALIZER };

/* -1: it is no file's. */
static inline int file_memory_find(const void *at)
{
    int found = -1;
    pthread_mutex_lock(&file_memory.table);
    for (int i = 0; i < FILE_MEMORY_MAX && found < 0; i++)
        if (file_memory.file[i].at == at) found = i;
    pthread_mutex_unlock(&file_memory.table);
    return found;
}

/* The table has the address until it is unmapped. */
static inline void *file_memory_map(int fd, size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    int i = 0;
    pthread_mutex_lock(&file_memory.table);
    while (i < FILE_MEMORY_MAX && file_memory.file[i].at) i++;
    if (i == FILE_MEMORY_MAX || at == MAP_FAILED) abort();
    file_memory.file[i].at = at;
    file_memory.file[i].bytes = bytes;
    file_memory.file[i].fd = fd;
    pthread_mutex_unlock(&file_memory.table);
    return at;
}

/* Something stood there before. */
static inline int file_memory_alloc(device *d, device_memory where, size_t bytes, void **out)
{
    if (where != DEVICE_MEMORY_DEVICE || bytes == 0) return file_memory.alloc(d, where, bytes, out);
    const int fd = memfd_create("memory", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0) return errno;
    *out = file_memory_map(fd, bytes);
    memset(*out, 255, bytes);
    return 0;
}

static inline int file_memory_unmap(device *d, void *p)
{
    const int i = file_memory_find(p), fd = file_memory.file[i].fd;
    const size_t bytes = file_memory.file[i].bytes;
    pthread_mutex_lock(&file_memory.table);
    file_memory.file[i].at = NULL; /* before another thread's file gets that address */
    pthread_mutex_unlock(&file_memory.table);
    return munmap(p, bytes) || close(fd) ? errno : 0;
}

static inline int file_memory_free(device *d, device_memory where, void *p)
{
    return !p || file_memory_find(p) < 0 ? file_memory.free(d, where, p) : file_memory_unmap(d, p);
}

/* The handle is the file's path. */
static inline int file_memory_make(device *d, void *allocation, device_handle *out)
{
    snprintf((char *)out->bytes, sizeof out->bytes, "/proc/%d/fd/%d", (int)getpid(),
             file_memory.file[file_memory_find(allocation)].fd);
    return 0;
}

static inline int file_memory_open(device *d, const device_handle *h, void **out)
{
    const int fd = open((const char *)h->bytes, O_RDWR | O_CLOEXEC);
    if (fd < 0) return errno;
    *out = file_memory_map(fd, (size_t)lseek(fd, 0, SEEK_END));
    return 0;
}

static inline void file_memory_give(device *d)
{
    file_memory.alloc = d->alloc;
    file_memory.free = d->free;
    d->unshared = NULL;
    d->alloc = file_memory_alloc;
    d->free = file_memory_free;
    d->handle_make = file_memory_make;
    d->handle_open = file_memory_open;
    d->handle_close = file_memory_unmap;
}
