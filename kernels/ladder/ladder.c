/* The families of this build. */
#include "ladder/ladder_families.h"

#define FAMILY(NAME) &ladder_##NAME,

static const ladder_family *const families[] = {
    LADDER_HOST_FAMILIES(FAMILY)
#if WEFT_CUDA
    LADDER_CUDA_FAMILIES(FAMILY)
#endif
};

const ladder_family *const *ladder_families(int *count)
{
    *count = (int)(sizeof families / sizeof families[0]);
    return families;
}
