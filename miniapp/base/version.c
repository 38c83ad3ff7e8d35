/* Both come from the Makefile, into this one object. */
#include "base/version.h"

#ifndef WEFT_VERSION
#define WEFT_VERSION "unknown"
#endif
#ifndef WEFT_GIT
#define WEFT_GIT "unknown"
#endif

const char version_number[] = WEFT_VERSION;
const char version_git[] = WEFT_GIT;
