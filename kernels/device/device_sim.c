/* The host device under a simulator of MPI (SimGrid's SMPI, `make SIM=1`). It really computes, and each call
 * of a step then takes simulated time: a launch, and the bytes that it moves. Only messages overlap with it:
 * a rank has one processor, which works in the order of its calls. Other builds compile nothing of this. */
#include "device/device_host.h"

#if WEFT_SIM
#include <malloc.h>
#include <smpi/smpi.h>
#include <stdio.h>
#include <stdlib.h>

static device_simulated rates; /* SMPI gives each rank its own copy of static data */

static double number_of(const char *variable, double otherwise)
{
    const char *const text = getenv(variable);
    const double number = text ? atof(text) : 0;
    return number > 0 ? number : otherwise;
}

void device_sim_take(double bytes) { smpi_execute_benched(rates.launch_s + bytes / rates.bytes_per_s); }

void device_sim_model(device *d)
{
    const char *const platform = getenv("WEFT_SIM_PLATFORM");
    rates = (device_simulated){ .bytes_per_s = number_of("WEFT_SIM_BYTES_PER_S", 4e12),
                                .launch_s = number_of("WEFT_SIM_LAUNCH_S", 2e-6),
                                .platform = platform ? platform : "" };
    (void)snprintf(d->name, sizeof d->name, "simulated: %g bytes/s, %g s per launch", rates.bytes_per_s,
                   rates.launch_s);
    d->simulated = &rates;
}

/* ---- memory: the linker sends weft's calls of malloc and related functions to these ---- */

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
void device_sim_model(device *d) { (void)d; }
int64_t memory_sim_bytes(void) { return 0; }
#endif
