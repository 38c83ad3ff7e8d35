/* Preloaded: on the host that SHIM_HOST names, a process that found a path missing finds it missing, and all
 * below it, ever after, as a client of a network file system does for some seconds. What the process makes
 * itself it sees. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REAL(NAME) ((__typeof__(&NAME))dlsym(RTLD_NEXT, #NAME))
enum { NAMES = 4096 };
static char *missing[NAMES];
static int count;

static int applies(const char *path)
{
    char host[64] = "";
    const char *wanted = getenv("SHIM_HOST");
    (void)gethostname(host, sizeof host - 1);
    return wanted && strcmp(host, wanted) == 0 && strncmp(path, "/proc", 5) && strncmp(path, "/sys", 4);
}

static int is_missing(const char *path)
{
    for (int i = 0; i < count && applies(path); i++) {
        const size_t bytes = strlen(missing[i]);
        if (strncmp(path, missing[i], bytes) != 0 || (path[bytes] != '/' && path[bytes])) continue;
        errno = ENOENT;
        return 1;
    }
    return 0;
}

static int heard(const char *path, int result)
{
    if (result < 0 && errno == ENOENT && count < NAMES && applies(path)) {
        missing[count++] = strdup(path);
        errno = ENOENT;
    }
    return result;
}

#define LOOK(NAME, ARGUMENTS, ...) \
    int NAME ARGUMENTS { return is_missing(path) ? -1 : heard(path, REAL(NAME)(__VA_ARGS__)); }
LOOK(access, (const char *path, int how), path, how)
LOOK(stat, (const char *restrict path, struct stat *restrict info), path, info)
LOOK(lstat, (const char *restrict path, struct stat *restrict info), path, info)

/* A name that the process made itself is there. */
static int made(const char *path, int result)
{
    for (int i = 0; i < count && result >= 0; i++)
        if (strcmp(missing[i], path) == 0) missing[i][0] = '\n';
    return result;
}

int mkdir(const char *path, mode_t mode) { return made(path, REAL(mkdir)(path, mode)); }
int rename(const char *from, const char *to) { return made(to, REAL(rename)(from, to)); }

static int open_as(const char *path, int how, mode_t mode, int (*real)(const char *, int, ...))
{
    if (how & O_CREAT) return made(path, real(path, how, mode));
    return is_missing(path) ? -1 : heard(path, real(path, how, mode));
}

#define OPEN(NAME) \
    int NAME(const char *path, int how, ...) \
    { \
        va_list more; \
        va_start(more, how); \
        const mode_t mode = how & O_CREAT ? va_arg(more, mode_t) : 0; \
        va_end(more); \
        return open_as(path, how, mode, REAL(NAME)); \
    }
OPEN(open)
OPEN(open64)
