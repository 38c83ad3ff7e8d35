/* The host device under a simulator of MPI (SimGrid's SMPI, `make SIM=1`). It really computes, and each call
 * of a step then takes simulated time: a launch, and the bytes that it moves. Only messages overlap with it:
 * a rank has one processor, which works in the order of its calls. Other builds compile nothing of this. */
#include "device/device_host.h"

#if WEFT_SIM
#include <malloc.h>
#include <smpi/smpi.h>
#include <stdio.h>
#include <stdlib.h>

static device host; /* SMPI gives each rank its own copy of static data */
static device_simulated rates;

static double number_of(const char *variable, double otherwise)
{
    const char *const text = getenv(variable);
    const double number = text ? atof(text) : 0;
    return number > 0 ? number : otherwise;
}

static int take(int code, double bytes)
{
    smpi_execute_benched(rates.launch_s + bytes / rates.bytes_per_s);
    return code;
}

static double bytes_of(dtype t, int64_t cells) { return (double)dtype_bytes(t) * (double)cells; }

static double pieces_bytes(const field_shape *f, const pack_piece *pieces, int count)
{
    int64_t cells = 0;
    for (int i = 0; i < count; i++) cells += box_cells(pieces[i].cells);
    return bytes_of(f->type, cells);
}

static double boxes_bytes(const field_shape *f, const box *boxes, int count)
{
    int64_t cells = 0;
    for (int i = 0; i < count; i++) cells += box_empty(boxes[i]) ? 0 : box_cells(boxes[i]);
    return bytes_of(f->type, cells);
}

static int sim_copy(device *d, void *to, const void *from, size_t bytes, device_stream *s)
{
    return take(host.copy(d, to, from, bytes, s), 2 * (double)bytes);
}

static int sim_stencil_pass(device *d, const field_shape *f, void *next, const void *cur, const void *prev,
                            const box *boxes, int count, device_stream *s)
{
    return take(host.stencil_pass(d, f, next, cur, prev, boxes, count, s),
                (prev ? 3 : 2) * boxes_bytes(f, boxes, count));
}

static int sim_temporal_pass(device *d, const field_shape *f, void *next, void *next_prev, const void *cur,
                             const void *prev, box cells, int steps, const boundary *sides, uint64_t *change,
                             device_stream *s)
{
    return take(host.temporal_pass(d, f, next, next_prev, cur, prev, cells, steps, sides, change, s),
                (prev ? 4 : 2) * boxes_bytes(f, &cells, 1));
}

static int sim_boundary_fill(device *d, const field_shape *f, void *field, const boundary *sides,
                             const box *boxes, int count, device_stream *s)
{
    return take(host.boundary_fill(d, f, field, sides, boxes, count, s), 2 * boxes_bytes(f, boxes, count));
}

static int sim_pack(device *d, const field_shape *f, const void *field, void *buffer,
                    const pack_piece *pieces, int count, device_stream *s)
{
    return take(host.pack(d, f, field, buffer, pieces, count, s), 2 * pieces_bytes(f, pieces, count));
}

static int sim_unpack(device *d, const field_shape *f, void *field, const void *buffer,
                      const pack_piece *pieces, int count, unpack_mode mode, device_stream *s)
{
    return take(host.unpack(d, f, field, buffer, pieces, count, mode, s),
                (mode == UNPACK_ADD ? 3 : 2) * pieces_bytes(f, pieces, count));
}

static int sim_transpose(device *d, dtype t, void *to, int64_t to_pitch, void *from, int64_t from_pitch,
                         int64_t rows, int64_t cols, int flags, device_stream *s)
{
    const int passes = 2 + (flags & TRANSPOSE_ADD ? 1 : 0) + (flags & TRANSPOSE_INCREMENT_SOURCE ? 1 : 0);
    return take(host.transpose(d, t, to, to_pitch, from, from_pitch, rows, cols, flags, s),
                passes * bytes_of(t, rows * cols));
}

static int sim_max_change(device *d, const field_shape *f, const void *a, const void *b, box cells,
                          uint64_t *result, device_stream *s)
{
    return take(host.max_change(d, f, a, b, cells, result, s), 2 * boxes_bytes(f, &cells, 1));
}

void device_sim_model(device *d)
{
    const char *const platform = getenv("WEFT_SIM_PLATFORM");
    rates = (device_simulated){ .bytes_per_s = number_of("WEFT_SIM_BYTES_PER_S", 4e12),
                                .launch_s = number_of("WEFT_SIM_LAUNCH_S", 2e-6),
                                .platform = platform ? platform : "" };
    (void)snprintf(d->name, sizeof d->name, "simulated: %g bytes/s, %g s per launch", rates.bytes_per_s,
                   rates.launch_s);
    host = *d;
    d->copy = sim_copy;
    d->stencil_pass = sim_stencil_pass;
    d->temporal_pass = sim_temporal_pass;
    d->boundary_fill = sim_boundary_fill;
    d->pack = sim_pack;
    d->unpack = sim_unpack;
    d->transpose = sim_transpose;
    d->max_change = sim_max_change;
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
