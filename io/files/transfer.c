#include "files/transfer.h"

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include "files/replace.h"

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

int transfer_pwrite(int fd, const void *data, size_t bytes, uint64_t at_bytes)
{
    return move_all(fd, (char *)data, bytes, at_bytes, true);
}

int transfer_pread(int fd, void *data, size_t bytes, uint64_t at_bytes)
{
    return move_all(fd, data, bytes, at_bytes, false);
}

int transfer_new_file(const char *path, const void *data, size_t bytes)
{
    const int fd = replace_create_new(path);
    int code = fd < 0 ? errno : transfer_pwrite(fd, data, bytes, 0);
    if (!code && fsync(fd) != 0) code = errno;
    if (fd >= 0 && close(fd) != 0 && !code) code = errno;
    return code;
}
