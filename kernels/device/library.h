/* Functions of a library that is opened when first asked for, so that the program starts without it.
 * CALLS(DO) lists them by the names that the library's header declares: they are the members of `library`,
 * and find_library, which finds them in that file, is false where it, or one of them, is not there. */
#pragma once

#include <dlfcn.h>
#include <stdbool.h>

#ifdef __cplusplus
#define LIBRARY_TYPE(NAME) decltype(&::NAME)
#else
#define LIBRARY_TYPE(NAME) __typeof__(&NAME)
#endif
#define LIBRARY_MEMBER(NAME) LIBRARY_TYPE(NAME) NAME;
#define LIBRARY_FIND(NAME) &&(library.NAME = (LIBRARY_TYPE(NAME))dlsym(handle, #NAME)) != NULL
#define LIBRARY(CALLS)                                            \
    static struct {                                               \
        CALLS(LIBRARY_MEMBER)                                     \
    } library;                                                    \
    static bool find_library(const char *file)                    \
    {                                                             \
        void *const handle = dlopen(file, RTLD_NOW | RTLD_LOCAL); \
        return handle != NULL CALLS(LIBRARY_FIND);                \
    }
