/* All of [0, bytes) of a file at an offset, in as many calls as it takes. 0 or errno; EIO where the file ends
 * before. By any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

int transfer_pwrite(int fd, const void *data, size_t bytes, uint64_t at_bytes);
int transfer_pread(int fd, void *data, size_t bytes, uint64_t at_bytes);
/* A new file with that in it, on disk. 0 or errno. */
int transfer_new_file(const char *path, const void *data, size_t bytes);
