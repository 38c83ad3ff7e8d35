/* For tests that take libc's calls over by functions of their names, also for the libraries that call them.
 * */
#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/types.h>

/* libc's own. */
#define LIBC_CALL(NAME) ((__typeof__(&NAME))dlsym(RTLD_NEXT, #NAME))

/* In open(const char *path, int flags, ...): `mode`, which is given only where a file may be made. */
#define LIBC_OPEN_MODE(mode, flags)                                          \
    mode_t mode = 0;                                                         \
    if ((flags) & O_CREAT) {                                                 \
        va_list args;                                                        \
        va_start(args, flags);                                               \
        mode = va_arg(args, mode_t);                                         \
        va_end(args);                                                        \
    }

/* The name that -D_FORTIFY_SOURCE gives a call of open whose flags the compiler does not know. Tests are
 * compiled without it, so that this is the open that the test takes over. */
int open(const char *path, int flags, ...);
int __open_2(const char *path, int flags);
int __open_2(const char *path, int flags) { return open(path, flags); }
