/* Fault hooks of debug builds, for tests that must see a check fail: the environment's WEFT_FAULT = NAME or NAME:NUMBER. */
#pragma once

#include <stdlib.h>
#include <string.h>

/* The number, 0 where none is given; -1 without that fault, and in all other builds. */
static inline int fault_asked(const char *name)
{
#ifdef WEFT_DEBUG
    const char *asked = getenv("WEFT_FAULT");
    const size_t length = strlen(name);
    if (asked && strncmp(asked, name, length) == 0 && asked[length] == ':') return atoi(asked + length + 1);
    if (asked && strcmp(asked, name) == 0) return 0;
#endif
    return -1;
}
