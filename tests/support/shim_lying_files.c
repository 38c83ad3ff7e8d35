/* Preloaded: in folders of `weft check fs` the file system does not keep what the words of SHIM_LIES name:
 * excl, rename (two steps), flock, fsync (an error). slow: each call takes 30 ms longer, as over a
 * busy network; the seconds that a rank has waited so are in SHIM_WAITED.RANK. */
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

static double waited_s;

static int lies(const char *word)
{
    const char *words = getenv("SHIM_LIES");
    return words && strstr(words, word);
}

/* Of a trial, and then its file's name; "" for others. */
static const char *name_of(const char *path)
{
    const int ours = strstr(path, "weft_check_fs.tmp.") != NULL;
    if (ours && lies("slow")) {
        usleep(30000);
        waited_s += 0.03;
    }
    return ours ? strrchr(path, '/') : "";
}

static const char *name_of_fd(int fd)
{
    static char path[4096];
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t bytes = readlink(link, path, sizeof path - 1);
    path[bytes > 0 ? bytes : 0] = '\0';
    return name_of(path);
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
    const int twice = strstr(name_of(path), "/first_") && lies("excl");
    return REAL(open)(path, twice ? flags & ~O_EXCL : flags, mode);
}

int rename(const char *from, const char *to)
{
    if (*name_of(to) && lies("rename")) {
        unlink(to);
        usleep(30000); /* a rank that shares its CPU with others looks every few milliseconds */
    }
    return REAL(rename)(from, to);
}

int flock(int fd, int operation)
{
    return lies("flock") && strstr(name_of_fd(fd), "/flock") ? 0 : REAL(flock)(fd, operation);
}

int fsync(int fd)
{
    if (!strstr(name_of_fd(fd), "/fsync") || !lies("fsync")) return REAL(fsync)(fd);
    errno = EIO;
    return -1;
}
