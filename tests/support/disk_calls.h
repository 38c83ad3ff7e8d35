/* What this process does to files in the test's folder: libc's calls are taken over by functions of their
 * names here, also for libraries that call them. Each asks disk_before, which may have it fail, and tells
 * disk_after when it is done; the test defines both. Include in one source. */
#pragma once

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "support/state_tests.h"

enum { DISK_NAME_BYTES = 200 };
typedef enum disk_what {
    DISK_OPEN, DISK_WRITE, DISK_TRUNCATE, DISK_FSYNC, DISK_RENAME, DISK_UNLINK, DISK_MKDIR, DISK_PROMISE
} disk_what;
typedef enum disk_verdict { DISK_AS_EVER, DISK_FAILS, DISK_LIES /* says that it is done */ } disk_verdict;

typedef struct disk_call {
    disk_what what;
    const char *call;                                /* "pwrite64" */
    char name[DISK_NAME_BYTES], to[DISK_NAME_BYTES]; /* below the folder; "" is the folder itself */
    int flags;                                       /* of an open */
    int64_t bytes, at; /* of a write; of a truncate the new length */
} disk_call;

/* Sets errno where the call fails. */
static disk_verdict disk_before(const disk_call *c);
static void disk_after(const disk_call *c);
static atomic_bool disk_watched;

static bool disk_below(const char *path, char name[DISK_NAME_BYTES])
{
    const size_t length = strlen(folder);
    if (!atomic_load(&disk_watched) || strncmp(path, folder, length) != 0 ||
        (path[length] && path[length] != '/'))
        return false;
    const char *const rest = path + length + (path[length] == '/');
    must(snprintf(name, DISK_NAME_BYTES, "%s", rest) < DISK_NAME_BYTES, path);
    return true;
}

static bool disk_of(int fd, const char *below, char name[DISK_NAME_BYTES])
{
    char link[64], path[4096] = "";
    const int before = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t bytes = atomic_load(&disk_watched) ? readlink(link, path, sizeof path - 256) : 0;
    errno = before;
    if (*below && bytes > 0) snprintf(path + bytes, 256, "/%s", below);
    return bytes > 0 && disk_below(path, name);
}

/* libc's own. */
#define DISK_LIBC(NAME) ((__typeof__(&NAME))dlsym(RTLD_NEXT, #NAME))

/* OURS: is it a file of the folder, with its name in c; behind it what else c has. */
#define DISK_BODY(TYPE, NAME, ARGUMENTS, OURS, ...)                                                         \
    {                                                                                                       \
        disk_call c = { .call = #NAME, .what = __VA_ARGS__ };                                               \
        const bool ours = OURS;                                                                             \
        const disk_verdict verdict = ours ? disk_before(&c) : DISK_AS_EVER;                                 \
        if (verdict != DISK_AS_EVER) return verdict == DISK_LIES ? (TYPE)c.bytes : -1;                      \
        const TYPE result = DISK_LIBC(NAME) ARGUMENTS;                                                      \
        if (ours && result >= 0) disk_after(&c);                                                            \
        return result;                                                                                      \
    }

#define DISK_OPEN_AS(NAME)                                                                                  \
    int NAME(const char *path, int flags, ...)                                                              \
    {                                                                                                       \
        va_list args;                                                                                       \
        va_start(args, flags);                                                                              \
        const mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;                                     \
        va_end(args);                                                                                       \
        DISK_BODY(int, NAME, (path, flags, mode), disk_below(path, c.name), DISK_OPEN, .flags = flags)      \
    }
DISK_OPEN_AS(open)
DISK_OPEN_AS(open64)
/* The name that -D_FORTIFY_SOURCE gives a call of open whose flags the compiler does not know. */
int __open_2(const char *path, int flags);
int __open_2(const char *path, int flags) { return open(path, flags); }

#define DISK_PWRITE_AS(NAME)                                                                                \
    ssize_t NAME(int fd, const void *data, size_t bytes, off_t at)                                          \
        DISK_BODY(ssize_t, NAME, (fd, data, bytes, at), disk_of(fd, "", c.name), DISK_WRITE,                \
                  .bytes = (int64_t)bytes, .at = at)
DISK_PWRITE_AS(pwrite)
DISK_PWRITE_AS(pwrite64)

#define DISK_FTRUNCATE_AS(NAME)                                                                             \
    int NAME(int fd, off_t bytes)                                                                           \
        DISK_BODY(int, NAME, (fd, bytes), disk_of(fd, "", c.name), DISK_TRUNCATE, .bytes = bytes)
DISK_FTRUNCATE_AS(ftruncate)
DISK_FTRUNCATE_AS(ftruncate64)

int fsync(int fd) DISK_BODY(int, fsync, (fd), disk_of(fd, "", c.name), DISK_FSYNC)
int fdatasync(int fd) DISK_BODY(int, fdatasync, (fd), disk_of(fd, "", c.name), DISK_FSYNC)
int unlink(const char *path) DISK_BODY(int, unlink, (path), disk_below(path, c.name), DISK_UNLINK)
int rmdir(const char *path) DISK_BODY(int, rmdir, (path), disk_below(path, c.name), DISK_UNLINK)
int unlinkat(int fd, const char *name, int flags)
    DISK_BODY(int, unlinkat, (fd, name, flags), disk_of(fd, name, c.name), DISK_UNLINK)
int mkdir(const char *path, mode_t mode)
    DISK_BODY(int, mkdir, (path, mode), disk_below(path, c.name), DISK_MKDIR)
int rename(const char *path, const char *to)
    DISK_BODY(int, rename, (path, to), disk_below(path, c.name) && disk_below(to, c.to), DISK_RENAME)
