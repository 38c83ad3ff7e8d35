#include "files/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

uint64_t replace_token(void)
{
    uint64_t token = 0;
    if (getrandom(&token, sizeof token, 0) != (ssize_t)sizeof token) abort(); /* Linux before 3.17 */
    return token;
}

bool replace_temporary(char *out, size_t out_bytes, const char *path)
{
    return snprintf(out, out_bytes, "%s.tmp.%016" PRIx64, path, replace_token()) < (int)out_bytes;
}

int replace_create_new(const char *path)
{
    return open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
}

int replace_sync_path(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno;
    const int code = fsync(fd) != 0 ? errno : 0;
    close(fd);
    return code;
}

int replace_sync_folder(const char *path)
{
    const int code = replace_sync_path(path);
    const bool has_none = code == EINVAL || code == ENOSYS || code == EOPNOTSUPP || code == EACCES;
    return has_none || code == EPERM ? 0 : code;
}

void replace_directory_of(char *out, size_t out_bytes, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash) snprintf(out, out_bytes, ".");
    else if (slash == path) snprintf(out, out_bytes, "/");
    else snprintf(out, out_bytes, "%.*s", (int)(slash - path), path);
}

int replace_begin(replace *r, const char *path)
{
    if (snprintf(r->path, sizeof r->path, "%s", path) >= (int)sizeof r->path) return ENAMETOOLONG;
    if (!replace_temporary(r->tmp, sizeof r->tmp, path)) return ENAMETOOLONG;
    const int fd = replace_create_new(r->tmp);
    r->to = fd < 0 ? NULL : fdopen(fd, "wb");
    if (r->to) return 0;
    const int code = errno;
    if (fd >= 0) close(fd);
    return code;
}

/* An earlier write that failed left no errno: one more write fails for the same reason, and has it. */
static int flush_to_disk(FILE *to)
{
    if (ferror(to)) return fputc('\n', to) == EOF || fflush(to) != 0 ? errno : EIO;
    return fflush(to) != 0 || fsync(fileno(to)) != 0 ? errno : 0;
}

int replace_end(replace *r, bool keep)
{
    char folder[sizeof r->path];
    int code = keep ? flush_to_disk(r->to) : 0;
    if (fclose(r->to) != 0 && !code) code = errno;
    r->to = NULL;
    if (keep && !code && rename(r->tmp, r->path) != 0) code = errno;
    if (!keep || code) {
        (void)unlink(r->tmp);
        return keep ? code : 0;
    }
    replace_directory_of(folder, sizeof folder, r->path);
    return replace_sync_folder(folder);
}

int replace_try(const char *path)
{
    replace r;
    const int code = replace_begin(&r, path);
    return code ? code : replace_end(&r, false);
}

int replace_try_folder(const char *folder)
{
    char path[4200];
    snprintf(path, sizeof path, "%.4100s/.weft", folder);
    return replace_try(path);
}

static int move_all(int fd, char *data, size_t bytes, uint64_t at_bytes, bool writes)
{
    for (size_t done = 0; done < bytes;) {
        const off_t at = (off_t)(at_bytes + done);
        const ssize_t n =
            writes ? pwrite(fd, data + done, bytes - done, at) : pread(fd, data + done, bytes - done, at);
        if (n == 0) return EIO;
        if (n < 0 && errno != EINTR) return errno;
        if (n > 0) done += (size_t)n;
    }
    return 0;
}

int replace_pwrite(int fd, const void *data, size_t bytes, uint64_t at_bytes)
{
    return move_all(fd, (char *)data, bytes, at_bytes, true);
}

int replace_pread(int fd, void *data, size_t bytes, uint64_t at_bytes)
{
    return move_all(fd, data, bytes, at_bytes, false);
}

int replace_new_file(const char *path, const void *data, size_t bytes)
{
    const int fd = replace_create_new(path);
    int code = fd < 0 ? errno : replace_pwrite(fd, data, bytes, 0);
    if (!code && fsync(fd) != 0) code = errno;
    if (fd >= 0 && close(fd) != 0 && !code) code = errno;
    return code;
}
