/* Names of files that are being written: each is used once in the life of the world. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "checkpoint_part.h"

uint64_t checkpoint_token(void)
{
    uint64_t token = 0;
    if (getrandom(&token, sizeof token, 0) == (ssize_t)sizeof token) return token;
    struct timespec now; /* a kernel without getrandom */
    clock_gettime(CLOCK_REALTIME, &now);
    return ((uint64_t)now.tv_sec << 32 ^ (uint64_t)now.tv_nsec) * 6364136223846793005u + (uint64_t)getpid();
}

bool checkpoint_temporary(char *out, size_t out_bytes, const char *path, uint64_t token)
{
    return snprintf(out, out_bytes, "%s.tmp.%016llx", path, (unsigned long long)token) < (int)out_bytes;
}

size_t checkpoint_temporary_stem(const char *name)
{
    const size_t length = strlen(name), suffix = strlen(".tmp"), token = suffix + 1 + CHECKPOINT_TOKEN_DIGITS;
    if (length > suffix && strcmp(name + length - suffix, ".tmp") == 0) return length - suffix;
    if (length <= token || strncmp(name + length - token, ".tmp.", suffix + 1) != 0) return 0;
    return strspn(name + length - CHECKPOINT_TOKEN_DIGITS, "0123456789abcdef") == CHECKPOINT_TOKEN_DIGITS ? length - token : 0;
}

void checkpoint_unlink_left(const char *path)
{
    char folder[CHECKPOINT_PATH_BYTES];
    const char *const slash = strrchr(path, '/'), *const name = slash ? slash + 1 : path;
    checkpoint_directory_of(folder, sizeof folder, path);
    DIR *d = opendir(folder);
    if (!d) return;
    for (const struct dirent *e; (e = readdir(d));)
        if (checkpoint_temporary_stem(e->d_name) == strlen(name) && strncmp(e->d_name, name, strlen(name)) == 0)
            (void)unlinkat(dirfd(d), e->d_name, 0);
    closedir(d);
}
