#include "files/transfer.h"

#include <errno.h>
#include <unistd.h>

int transfer_pwrite(int fd, const void *data, size_t bytes, uint64_t at_bytes)
{
    for (size_t done = 0; done < bytes;) {
        const ssize_t n = pwrite(fd, (const char *)data + done, bytes - done, (off_t)(at_bytes + done));
        if (n == 0) return EIO;
        if (n < 0 && errno != EINTR) return errno;
        if (n > 0) done += (size_t)n;
    }
    return 0;
}

int transfer_pread(int fd, void *data, size_t bytes, uint64_t at_bytes)
{
    for (size_t done = 0; done < bytes;) {
        const ssize_t n = pread(fd, (char *)data + done, bytes - done, (off_t)(at_bytes + done));
        if (n == 0) return EIO;
        if (n < 0 && errno != EINTR) return errno;
        if (n > 0) done += (size_t)n;
    }
    return 0;
}
