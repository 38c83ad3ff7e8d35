#include "ladder_memory/ladder_memory.h"

#include "ladder/ladder_families.h"
#include "ladder/ladder_peer.h"

static const char teaches[] =
    "Between the host's memory and the GPU's: which kind of host memory, and who does the moving.\n"
    "\n"
    "The copy engines of a GPU read host memory by physical address. Ordinary (pageable) memory may move or be swapped out "
    "under them, so the driver first copies it, piece by piece, into page-locked memory of its own: the CPU then touches every "
    "byte, and its speed is the limit. Page-locked (pinned) memory is read directly, at the speed of PCIe, and the call returns "
    "at once, so that it can overlap with other work. Pinning is slow itself (every page is locked and mapped for the GPU): it "
    "pays for buffers that live long, never around a single copy.\n"
    "\n"
    "A kernel can also read and write pinned memory in place (mapped, \"zero copy\"): each access crosses PCIe, which is right "
    "for data that are touched once and wrong for data that are touched twice. Managed memory moves pages to whoever touches "
    "them: without a hint every first touch is a page fault of tens of microseconds; a prefetch moves whole ranges like a copy "
    "does.\n"
    "\n"
    "Measured on H200s over PCIe 5 x16: pageable 6 to 18 GB/s from 256 KiB on, pinned 55 in either direction and 102 in both at "
    "once, mapped reads 51 and writes 53, managed memory 11 by faults and 41 after a prefetch (64 MiB; 4 and 5 at 256 KiB); "
    "between two H200s over NVLink 396 by the copy engine and 374 by a kernel. Half of the pinned speed needs copies of 128 "
    "KiB: below that the 1.9 to 3 us that a copy costs by itself are longer than the transfer. The CPU reads write-combined "
    "memory as fast as any there, because that virtual machine maps it cached; where it is not, it is a hundred times slower.\n"
    "\n"
    "Where the CPU has its part (pageable copies, its own reads, page faults, copies below 1 MiB) two runs may differ by more "
    "than 5 %, and by a quarter on another host with the same GPU. An allocation is all the driver's and the kernel's own code, "
    "which ran at another speed on each of five virtual machines.\n";

namespace {

const int64_t curve[] = { 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20, 1 << 30 };
const int64_t short_curve[] = { 4 << 10, 256 << 10, 4 << 20, 64 << 20 };
const int64_t small_curve[] = { 64 << 10, 1 << 20, 4 << 20 };

constexpr ladder_way copies = { ladder_memory_prepare, ladder_copy, ladder_verify_copy },
                     kernel = { ladder_memory_prepare, ladder_memory_kernel, ladder_verify_copy },
                     both = { ladder_memory_both_prepare, ladder_memory_both, ladder_memory_both_verify },
                     host_read = { ladder_memory_prepare, ladder_memory_host_read, ladder_memory_host_read_verify },
                     prefetched = { ladder_memory_prepare, ladder_memory_prefetch_in, ladder_verify_copy },
                     accessed_by = { ladder_memory_accessed_by_prepare, ladder_memory_kernel, ladder_verify_copy };

constexpr ladder_rung moves(const char *name, const char *why, int kind, ladder_way way, const char *ceiling, const char *teaches)
{
    return { .name = name, .why = why, .teaches = teaches, .variant = kind, .prepare = way.prepare, .enqueue = way.enqueue,
             .verify = way.verify, .destroy = ladder_memory_destroy,
             .missing = kind == LADDER_MEMORY_PEER      ? ladder_peer_missing
                        : kind == LADDER_MEMORY_MANAGED ? ladder_memory_managed_missing
                                                        : nullptr,
             .unit = LADDER_BYTES, /* of pageable memory the CPU copies each byte */
             .clock = (kind & (LADDER_MEMORY_TO_HOST - 1)) == LADDER_MEMORY_PAGEABLE ? LADDER_CLOCK_HOST : LADDER_CLOCK_DEVICE,
             .ceiling = ceiling, .scan = LADDER_MEMORY_BYTES, .scan_count = sizeof curve / sizeof *curve, .scan_values = curve };
}

constexpr ladder_rung host_reads(const char *name, const char *why, int kind, const char *teaches)
{
    ladder_rung r = moves(name, why, kind, host_read, nullptr, teaches);
    r.clock = LADDER_CLOCK_HOST;
    r.scan_count = sizeof small_curve / sizeof *small_curve;
    r.scan_values = small_curve;
    return r;
}

constexpr ladder_rung managed(const char *name, const char *why, ladder_way way, int (*before)(ladder_case *), const char *teaches)
{
    ladder_rung r = moves(name, why, LADDER_MEMORY_MANAGED, way, "h2d", teaches);
    r.before = before;
    r.scan_count = sizeof short_curve / sizeof *short_curve;
    r.scan_values = short_curve;
    return r;
}

constexpr ladder_rung allocates(const char *name, const char *why, int what, const char *teaches)
{
    return { .name = name, .why = why, .teaches = teaches, .variant = what, .prepare = ladder_memory_allocation_prepare,
             .enqueue = ladder_memory_allocate, .verify = ladder_memory_allocation_verify,
             .destroy = ladder_memory_allocation_destroy, .unit = LADDER_CALLS, .clock = LADDER_CLOCK_HOST,
             .scan = LADDER_MEMORY_BYTES, .scan_count = sizeof short_curve / sizeof *short_curve, .scan_values = short_curve };
}

const ladder_rung rungs[] = {
    moves("pageableH2D", "the driver copies it first", LADDER_MEMORY_PAGEABLE, copies, "h2d",
          "The driver copies piece after piece into page-locked memory of its own before the copy engine reads it: the CPU "
          "touches every byte."),
    moves("pageableD2H", "and afterwards on the way back", LADDER_MEMORY_PAGEABLE | LADDER_MEMORY_TO_HOST, copies, "d2h",
          "The copy engine writes into the driver's page-locked memory, from where the CPU copies."),
    moves("pinnedH2D", "page-locked: read directly", LADDER_MEMORY_PINNED, copies, "h2d",
          "The copy engine reads the buffer by its physical addresses, and the call returns at once."),
    moves("pinnedD2H", "page-locked: written directly", LADDER_MEMORY_PINNED | LADDER_MEMORY_TO_HOST, copies, "d2h",
          "The same in the other direction, at about the same speed."),
    moves("pinnedBoth", "two streams, two engines, two directions", LADDER_MEMORY_PINNED, both, "both",
          "PCIe has lanes for each direction, and the GPU a copy engine for each: half of the buffer goes in on one stream while "
          "the other half goes out on another."),
    moves("portableH2D", "page-locked for every GPU: no slower", LADDER_MEMORY_PORTABLE, copies, "h2d",
          "With unified addressing, as on all 64-bit systems, every GPU may use all page-locked memory: the flag changes "
          "nothing."),
    moves("registeredH2D", "a program's own pages, locked later", LADDER_MEMORY_REGISTERED, copies, "h2d",
          "Memory that another library allocated can be locked afterwards, and is then as fast as pinned memory."),
    moves("writeCombinedH2D", "past the CPU's caches", LADDER_MEMORY_WRITE_COMBINED, copies, "h2d",
          "The CPU gathers its stores into lines and sends them past its caches, which spares the copy engine the look into "
          "them."),
    host_reads("pinnedHostRead", "the CPU reads pinned memory: cached", LADDER_MEMORY_PINNED,
          "Page-locked memory is ordinary memory for the CPU."),
    host_reads("writeCombinedHostRead", "the CPU reads write-combined: may crawl", LADDER_MEMORY_WRITE_COMBINED,
          "Where memory is mapped as it was asked for, no load finds the data in a cache: each goes all the way to memory, one at "
          "a time. The CPU should only write there."),
    moves("mappedRead", "a kernel loads across PCIe", LADDER_MEMORY_PINNED, kernel, "h2d",
          "The kernel copies 16 bytes per thread, 512 bytes per warp, whatever lies at the other end of the pointer."),
    moves("mappedWrite", "a kernel stores across PCIe", LADDER_MEMORY_PINNED | LADDER_MEMORY_TO_HOST, kernel, "d2h",
          "The same in the other direction: stores need no answer, so that they are a little faster."),
    managed("managedFault", "every page moves at its fault", kernel, ladder_memory_send_home,
          "The pages are at home on the host when a repetition begins. The first thread that touches one waits for tens of "
          "microseconds until it has moved."),
    managed("managedPrefetch", "pages moved in bulk, then read", prefetched, ladder_memory_send_home,
          "One call moves the whole range as a copy does, and the kernel then finds its pages on the GPU."),
    managed("managedAccessedBy", "read in place, no page moves", accessed_by, nullptr,
          "With this advice the GPU keeps a mapping of the host's pages and reads them across PCIe: no fault, and no page moves."),
    moves("peerCopy", "the copy engine over NVLink or PCIe", LADDER_MEMORY_PEER, copies, "peer",
          "Between two GPUs, with no part of the host's."),
    moves("peerRead", "a kernel loads from the other GPU", LADDER_MEMORY_PEER, kernel, "peer",
          "The same kernel as mappedRead, with a pointer to the memory of the other GPU."),
    allocates("allocateDevice", "cudaMalloc and cudaFree: both wait", LADDER_MEMORY_OF_DEVICE,
          "cudaMalloc maps pages for the whole device and, like cudaFree, may wait for all work on it: never in a loop. On H200s "
          "54 to 78 us for 4 KiB, 84 to 230 us for 64 MiB."),
    allocates("allocatePool", "in stream order, from a pool", LADDER_MEMORY_OF_POOL,
          "A pool hands out what was freed before, in the order of a stream, and asks the driver only when it is empty: 0.5 to "
          "0.6 us at any size."),
    allocates("allocatePinned", "every page is locked and mapped", LADDER_MEMORY_OF_PINNED,
          "The price grows with the size: 0.5 to 0.7 ms for 4 KiB, 20 to 29 ms for 64 MiB."),
    allocates("allocateRegistered", "locking pages that are there", LADDER_MEMORY_OF_REGISTERED,
          "Cheaper than having the pages made: 0.06 to 0.07 ms for 4 KiB, 2.3 to 4 ms for 64 MiB."),
    allocates("allocateManaged", "pages come with their first touch", LADDER_MEMORY_OF_MANAGED,
          "It costs little now, 14 to 30 us, and a fault per page later."),
};

const ladder_parameter parameters[] = {
    { "bytes", 64 << 20, 16, (int64_t)4 << 30, "of a transfer or an allocation, rounded down to 16" },
};

} // namespace

const ladder_family ladder_memory_cuda =
    LADDER_FAMILY(DEVICE_CUDA, "memory", "kinds of host memory, and who moves it", nullptr, nullptr, nullptr);
