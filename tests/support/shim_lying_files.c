/* Preloaded: in folders of `weft check fs` the file system does not keep what the words of SHIM_LIES name:
 * excl, rename (two steps), flock, fsync (an error), lost (zeros are written). slow: each call takes 30 ms
 * longer, as over a busy network; the seconds that a rank has waited so are in SHIM_WAITED.RANK. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define REAL(NAME) ((__typeof__(&NAME))dlsym(RTLD_NEXT, #NAME))

static int lies(const char *word)
{
    const char *words = getenv("SHIM_LIES");
    return words && strstr(words, word);
}

static double waited_s;

/* A file of the trial; slow: also takes the time of a call. */
static int is_ours(const char *path)
{
    const int ours = strstr(path, "weft_check_fs.tmp.") != NULL;
    if (!ours || !lies("slow")) return ours;
    usleep(30000);
    waited_s += 0.03;
    return 1;
}

static int is_trial(int fd, const char *of)
{
    char link[64], path[4096] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return readlink(link, path, sizeof path - 1) > 0 && is_ours(path) && strstr(strrchr(path, '/'), of);
}

__attribute__((destructor)) static void say_what_was_waited(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *where = getenv("SHIM_WAITED");
    char path[4096];
    if (!where || !rank || waited_s == 0) return;
    snprintf(path, sizeof path, "%s.%s", where, rank);
    FILE *f = fopen(path, "w");
    if (f) fprintf(f, "%.1f\n", waited_s);
    if (f) fclose(f);
}

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    const int makes_twice = is_ours(path) && lies("excl") && strstr(path, "/first_");
    return REAL(open)(path, makes_twice ? flags & ~O_EXCL : flags, mode);
}

int rename(const char *from, const char *to)
{
    if (is_ours(to) && lies("rename")) {
        unlink(to);
        usleep(30000); /* a rank that shares its CPU with others looks every few milliseconds */
    }
    return REAL(rename)(from, to);
}

int flock(int fd, int operation)
{
    return lies("flock") && is_trial(fd, "/flock") ? 0 : REAL(flock)(fd, operation);
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at)
{
    if (is_trial(fd, "/") && lies("lost") && is_trial(fd, "/rate_"))
        return ftruncate(fd, at + (off_t)bytes) == 0 ? (ssize_t)bytes : -1;
    return REAL(pwrite)(fd, data, bytes, at);
}

int unlink(const char *path)
{
    (void)is_ours(path);
    return REAL(unlink)(path);
}

int fsync(int fd)
{
    if (!is_trial(fd, "/") || !lies("fsync") || !is_trial(fd, "/fsync")) return REAL(fsync)(fd);
    errno = EIO;
    return -1;
}
