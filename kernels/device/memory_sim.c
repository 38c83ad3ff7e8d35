#include "device/memory_sim.h"

#if WEFT_SIM
#include <malloc.h>
#include <stdlib.h>

static int64_t allocated_bytes; /* SMPI gives each rank its own copy of static data */

/* Opens the definition of a function that replaces one of the C library. */
#define MEMORY_SIM(returned, name, ...) \
    returned __real_##name(__VA_ARGS__); \
    returned __wrap_##name(__VA_ARGS__); \
    returned __wrap_##name(__VA_ARGS__)

static void *taken(void *p)
{
    allocated_bytes += (int64_t)malloc_usable_size(p);
    return p;
}

MEMORY_SIM(void *, malloc, size_t bytes) { return taken(__real_malloc(bytes)); }
MEMORY_SIM(void *, calloc, size_t count, size_t bytes) { return taken(__real_calloc(count, bytes)); }
MEMORY_SIM(void *, aligned_alloc, size_t alignment, size_t bytes)
{
    return taken(__real_aligned_alloc(alignment, bytes));
}
MEMORY_SIM(char *, strdup, const char *text) { return taken(__real_strdup(text)); }
MEMORY_SIM(char *, strndup, const char *text, size_t most) { return taken(__real_strndup(text, most)); }

MEMORY_SIM(void *, realloc, void *p, size_t bytes)
{
    allocated_bytes -= (int64_t)malloc_usable_size(p);
    return taken(__real_realloc(p, bytes));
}

int64_t memory_sim_bytes(void) { return allocated_bytes; }
#else
int64_t memory_sim_bytes(void) { return 0; }
#endif
