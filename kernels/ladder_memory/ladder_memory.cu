/* memory: which kind of host memory, and who does the moving? The lesson: docs/teaching/memory.md. */
#include <stdlib.h>
#include <string.h>

#include "ladder/ladder_kernel.cuh"

namespace {

enum { BYTES }; /* the family's one parameter */

/* A transfer's variant: without PAGEABLE its far buffer is pinned, without TO_HOST bytes go to the GPU. */
enum { PINNED = 0, PAGEABLE = 1, TO_HOST = 2 };

/* ---- transfers: `bytes` between a far buffer, of the host, and a near one, of this GPU ---- */

int far_alloc(ladder_case *c, size_t bytes, void **out)
{
    if (!(c->rung->variant & PAGEABLE)) return ladder_alloc(c, DEVICE_MEMORY_PINNED, bytes, out);
    c->state = *out = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095); /* the case's state owns it */
    return *out ? cudaSuccess : cudaErrorMemoryAllocation;
}

int transfer_prepare(ladder_case *c)
{
    c->size = c->value[BYTES] & ~(int64_t)15;
    c->work = (double)c->size;
    c->out_cells = c->size / (int64_t)dtype_bytes(c->type);
    const size_t bytes = (size_t)c->size;
    const bool to_host = c->rung->variant & TO_HOST;
    void **const far = to_host ? &c->out : &c->in, **const near = to_host ? &c->in : &c->out;
    int code = far_alloc(c, bytes, far);
    if (!code) code = ladder_alloc_random(c, c->out_cells, near);
    /* also the first touch of every page */
    if (!code) code = ladder_fetch(c, *far, *near, bytes);
    if (code) return code;
    if (!to_host) return ladder_poison(c, *near, bytes);
    memset(*far, 0xff, bytes);
    return cudaSuccess;
}

/* ---- the table ---- */

const int64_t curve[] = { 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20,
                          4 << 20, 16 << 20, 64 << 20, 256 << 20, 1 << 30 };

/* The CPU touches each byte of pageable memory. */
constexpr ladder_rung moves(const char *name, const char *why, int (*enqueue)(ladder_case *), int kind,
                            const char *ceiling)
{
    return { LADDER_ROW(name, why, transfer_prepare, enqueue, ladder_verify_cells, ceiling), .variant = kind,
             .clock = kind & PAGEABLE ? LADDER_CLOCK_HOST : LADDER_CLOCK_DEVICE, LADDER_SCAN(BYTES, curve) };
}

const ladder_rung rungs[] = {
    moves("pageableH2D", "the driver copies it first", ladder_copy, PAGEABLE, "h2d"),
    moves("pageableD2H", "and afterwards on the way back", ladder_copy, PAGEABLE | TO_HOST, "d2h"),
    moves("pinnedH2D", "page-locked: read directly", ladder_copy, PINNED, "h2d"),
    moves("pinnedD2H", "page-locked: written directly", ladder_copy, PINNED | TO_HOST, "d2h"),
    moves("mappedRead", "a kernel loads across PCIe", ladder_copy_vectors<uint4>, PINNED, "h2d"),
    moves("mappedWrite", "a kernel stores across PCIe", ladder_copy_vectors<uint4>, PINNED | TO_HOST, "d2h"),
};

const ladder_parameter parameters[] = {
    { "bytes", 64 << 20, 16, (int64_t)4 << 30, "of a transfer, rounded down to 16" },
};

} // namespace

const ladder_family ladder_memory_cuda =
    LADDER_FAMILY(DEVICE_CUDA, "memory", "kinds of host memory, and who moves it", nullptr, nullptr, nullptr);
