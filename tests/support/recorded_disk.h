/* What this process does to the files of one folder, recorded: libc's calls are taken over by functions of
 * their names here, which do the same and note it, also for libraries that call them. Include in one source
 * of a test.
 *
 * Writes and changes of names are noted when they are done, an fsync when it begins: it promises what was
 * done by then, and no more. Times are of one clock of the machine, so that the notes of several ranks can be
 * put in one order. */
#pragma once

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "ranks/timer.h"
#include "support/libc_call.h"

enum { DISK_NAME_BYTES = 96, DISK_FDS = 4096 };
typedef enum disk_what {
    DISK_OPEN, DISK_WRITE, DISK_TRUNCATE, DISK_FSYNC, DISK_RENAME, DISK_UNLINK, DISK_MKDIR, DISK_PROMISE
} disk_what;

typedef struct disk_note {
    double at_s;
    disk_what what;
    int rank, handle;                                /* of one open, of one rank */
    bool creates, empties;                           /* of an open */
    int64_t offset, bytes;                           /* write, truncate (the new length); promise: offset
                                                      * is the step */
    int64_t data_at;                                 /* of a write: where its bytes are in disk.data */
    char name[DISK_NAME_BYTES], to[DISK_NAME_BYTES]; /* below the folder; "" is the folder itself */
} disk_note;

static struct {
    pthread_mutex_t lock;
    bool records;
    char folder[DISK_NAME_BYTES]; /* without a slash at its end */
    int rank, handles;
    int handle[DISK_FDS]; /* 0: none of ours */
    disk_note *note;
    int notes, notes_room;
    char *data;
    int64_t data_bytes;
} disk = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* False: not below the folder. */
static bool disk_name(const char *path, char name[DISK_NAME_BYTES])
{
    const size_t length = strlen(disk.folder);
    if (!disk.records || strncmp(path, disk.folder, length) != 0 || (path[length] && path[length] != '/'))
        return false;
    const char *rest = path + length + (path[length] == '/');
    if (strlen(rest) >= DISK_NAME_BYTES) abort();
    strcpy(name, rest);
    return true;
}

/* The caller holds the lock. */
static disk_note *disk_add(disk_what what, double at_s)
{
    if (disk.notes == disk.notes_room) {
        disk.notes_room = 2 * disk.notes_room + 64;
        disk.note = realloc(disk.note, (size_t)disk.notes_room * sizeof *disk.note);
        if (!disk.note) abort();
    }
    disk_note *n = &disk.note[disk.notes++];
    memset(n, 0, sizeof *n);
    n->what = what;
    n->at_s = at_s;
    n->rank = disk.rank;
    return n;
}

static void disk_note_names(disk_what what, const char *path, const char *to)
{
    char name[DISK_NAME_BYTES], other[DISK_NAME_BYTES] = "";
    if (!disk_name(path, name) || (to && !disk_name(to, other))) return;
    pthread_mutex_lock(&disk.lock);
    disk_note *n = disk_add(what, timer_now_s());
    strcpy(n->name, name);
    strcpy(n->to, other);
    pthread_mutex_unlock(&disk.lock);
}

static void disk_note_open(int fd, const char *path, int flags)
{
    char name[DISK_NAME_BYTES];
    if (fd < 0 || fd >= DISK_FDS || !disk_name(path, name)) return;
    pthread_mutex_lock(&disk.lock);
    disk_note *n = disk_add(DISK_OPEN, timer_now_s());
    strcpy(n->name, name);
    n->handle = disk.handle[fd] = ++disk.handles;
    n->creates = (flags & O_CREAT) != 0;
    n->empties = (flags & O_TRUNC) != 0;
    pthread_mutex_unlock(&disk.lock);
}

static int disk_handle(int fd) { return disk.records && fd >= 0 && fd < DISK_FDS ? disk.handle[fd] : 0; }

static void disk_note_bytes(disk_what what, int fd, const void *data, int64_t bytes, int64_t offset)
{
    if (!disk_handle(fd)) return;
    pthread_mutex_lock(&disk.lock);
    disk_note *n = disk_add(what, timer_now_s());
    n->handle = disk.handle[fd];
    n->offset = offset;
    n->bytes = bytes;
    if (data && bytes > 0) {
        disk.data = realloc(disk.data, (size_t)(disk.data_bytes + bytes));
        if (!disk.data) abort();
        memcpy(disk.data + disk.data_bytes, data, (size_t)bytes);
        n->data_at = disk.data_bytes;
        disk.data_bytes += bytes;
    }
    pthread_mutex_unlock(&disk.lock);
}

/* ---- the test's ---- */

static void disk_record(const char *below, int rank)
{
    if (strlen(below) >= DISK_NAME_BYTES) abort();
    strcpy(disk.folder, below);
    disk.rank = rank;
    disk.notes = disk.handles = 0;
    disk.data_bytes = 0;
    memset(disk.handle, 0, sizeof disk.handle);
    disk.records = true;
}

static inline void disk_promise(int64_t step) /* this step's file is on disk, whatever happens now */
{
    pthread_mutex_lock(&disk.lock);
    disk_add(DISK_PROMISE, timer_now_s())->offset = step;
    pthread_mutex_unlock(&disk.lock);
}

/* ---- libc's ---- */

#define DISK_OPEN_AS(NAME)                                                   \
    int NAME(const char *path, int flags, ...)                               \
    {                                                                        \
        LIBC_OPEN_MODE(mode, flags)                                          \
        const int fd = LIBC_CALL(NAME)(path, flags, mode);                   \
        disk_note_open(fd, path, flags);                                     \
        return fd;                                                           \
    }
DISK_OPEN_AS(open)
DISK_OPEN_AS(open64)

#define DISK_PWRITE_AS(NAME)                                                 \
    ssize_t NAME(int fd, const void *data, size_t bytes, off_t at)           \
    {                                                                        \
        const ssize_t n = LIBC_CALL(NAME)(fd, data, bytes, at);              \
        if (n > 0) disk_note_bytes(DISK_WRITE, fd, data, n, at);             \
        return n;                                                            \
    }
DISK_PWRITE_AS(pwrite)
DISK_PWRITE_AS(pwrite64)

static void disk_note_pieces(int fd, const struct iovec *piece, int pieces, ssize_t written, int64_t at)
{
    for (int i = 0; i < pieces && written > 0; i++) {
        const ssize_t bytes = (ssize_t)piece[i].iov_len < written ? (ssize_t)piece[i].iov_len : written;
        disk_note_bytes(DISK_WRITE, fd, piece[i].iov_base, bytes, at);
        at += bytes;
        written -= bytes;
    }
}

#define DISK_PWRITEV_AS(NAME)                                                \
    ssize_t NAME(int fd, const struct iovec *piece, int pieces, off_t at)    \
    {                                                                        \
        const ssize_t n = LIBC_CALL(NAME)(fd, piece, pieces, at);            \
        disk_note_pieces(fd, piece, pieces, n, at);                          \
        return n;                                                            \
    }
DISK_PWRITEV_AS(pwritev)
DISK_PWRITEV_AS(pwritev64)

ssize_t writev(int fd, const struct iovec *piece, int pieces)
{
    const off_t at = disk_handle(fd) ? lseek(fd, 0, SEEK_CUR) : 0;
    const ssize_t n = LIBC_CALL(writev)(fd, piece, pieces);
    disk_note_pieces(fd, piece, pieces, n, at);
    return n;
}

ssize_t write(int fd, const void *data, size_t bytes)
{
    const off_t at = disk_handle(fd) ? lseek(fd, 0, SEEK_CUR) : 0;
    const ssize_t n = LIBC_CALL(write)(fd, data, bytes);
    if (n > 0) disk_note_bytes(DISK_WRITE, fd, data, n, at);
    return n;
}

#define DISK_FTRUNCATE_AS(NAME)                                              \
    int NAME(int fd, off_t bytes)                                            \
    {                                                                        \
        const int code = LIBC_CALL(NAME)(fd, bytes);                         \
        if (code == 0) disk_note_bytes(DISK_TRUNCATE, fd, NULL, bytes, 0);   \
        return code;                                                         \
    }
DISK_FTRUNCATE_AS(ftruncate)
DISK_FTRUNCATE_AS(ftruncate64)

#define DISK_FSYNC_AS(NAME)                                                  \
    int NAME(int fd)                                                         \
    {                                                                        \
        disk_note_bytes(DISK_FSYNC, fd, NULL, 0, 0);                         \
        return LIBC_CALL(NAME)(fd);                                          \
    }
DISK_FSYNC_AS(fsync)
DISK_FSYNC_AS(fdatasync)

int close(int fd)
{
    if (disk_handle(fd)) disk.handle[fd] = 0;
    return LIBC_CALL(close)(fd);
}

int rename(const char *from, const char *to)
{
    const int code = LIBC_CALL(rename)(from, to);
    if (code == 0) disk_note_names(DISK_RENAME, from, to);
    return code;
}

int unlink(const char *path)
{
    const int code = LIBC_CALL(unlink)(path);
    if (code == 0) disk_note_names(DISK_UNLINK, path, NULL);
    return code;
}

int rmdir(const char *path)
{
    const int code = LIBC_CALL(rmdir)(path);
    if (code == 0) disk_note_names(DISK_UNLINK, path, NULL);
    return code;
}

int unlinkat(int fd, const char *name, int flags)
{
    char link[64], path[4096] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t bytes = disk.records ? readlink(link, path, sizeof path - 512) : 0;
    const int code = LIBC_CALL(unlinkat)(fd, name, flags);
    if (bytes > 0) snprintf(path + bytes, 512, "/%s", name);
    if (code == 0 && bytes > 0) disk_note_names(DISK_UNLINK, path, NULL);
    return code;
}

int mkdir(const char *path, mode_t mode)
{
    const int code = LIBC_CALL(mkdir)(path, mode);
    if (code == 0) disk_note_names(DISK_MKDIR, path, NULL);
    return code;
}
