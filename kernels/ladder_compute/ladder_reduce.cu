#include <stdlib.h>

#include <cub/device/device_reduce.cuh>

#include "device/device_cuda.h"
#include "ladder/ladder_families.h"
#include "ladder_compute/ladder_reduce.h"

static const char teaches[] =
    "Summing an array: fifteen ways to let thousands of threads agree on one number.\n"
    "\n"
    "The sum needs every word once, so reading is the ceiling; all else is overhead, and the ladder removes it piece by piece. "
    "A block sums its part as a tree: in each round half of the threads that are left add their neighbour's number. What is "
    "lost on the way: threads of one warp that do different things (a warp runs both branches), rounds in which most threads "
    "idle, a barrier for the whole block where a warp would do, traffic to global memory for numbers that never leave the "
    "block, and blocks that start with a single load each. Every block's sum is summed by one more block; its 10 us are in the "
    "figures.\n"
    "\n"
    "The words are unsigned integers (the bit patterns of random numbers), so that every order of additions gives the same sum, "
    "which the host knows. The rungs that work in place destroy their input; it is restored, untimed, before each repetition.\n"
    "\n"
    "Measured on one H200, 2^27 words of u32 / u64, as a fraction of the read: neighboured .14 / .20 and with whole warps no "
    "better (.13 / .19: L1 is as busy as before), interleaved .17 / .29, unrolled .30, .52, .73 / .44, .64, .78: more loads in "
    "flight and fewer rounds are nearly the whole gain. What is unrolled after that gains nothing any more (.67). On the chip, "
    "by shared memory or shuffles, .92 / .95; one atomic per block .91 / .98; one per thread .20 / .02; kernels that launch the "
    "next level .76; CUB .93 / .97.\n";

namespace {

typedef uint32_t word32;
typedef unsigned long long word64;

/* ---- the library ---- */

cudaError_t cub_sum(const ladder_case *c, void *memory, size_t *bytes)
{
    const ladder_reduce *s = (const ladder_reduce *)c->state;
    const cudaStream_t stream = device_cuda_stream(c->stream);
    switch (c->type) {
    case DTYPE_F32:
        return cub::DeviceReduce::Sum(memory, *bytes, (const word32 *)s->data, (word32 *)s->result, s->padded_words, stream);
    case DTYPE_F64:
        return cub::DeviceReduce::Sum(memory, *bytes, (const word64 *)s->data, (word64 *)s->result, s->padded_words, stream);
    }
    return cudaErrorInvalidValue;
}

int run_library(ladder_case *c)
{
    ladder_reduce *s = (ladder_reduce *)c->state;
    return cub_sum(c, s->library, &s->library_bytes);
}

/* ---- the problem ---- */

int restore(ladder_case *c)
{
    const ladder_reduce *s = (const ladder_reduce *)c->state;
    return c->d->copy(c->d, s->data, s->original, s->bytes, c->stream);
}

int prepare(ladder_case *c)
{
    device *d = c->d;
    ladder_reduce *s = (ladder_reduce *)calloc(1, sizeof *s);
    if (!s) abort();
    c->state = s;
    c->size = c->value[0];
    c->work = (double)c->size * (double)dtype_bytes(c->type);
    s->padded_words = (c->size + LADDER_REDUCE_CHUNK - 1) / LADDER_REDUCE_CHUNK * LADDER_REDUCE_CHUNK;
    s->bytes = (size_t)s->padded_words * dtype_bytes(c->type);
    int code = d->alloc(d, DEVICE_MEMORY_DEVICE, s->bytes, &s->data);
    if (!code && c->rung->before) code = d->alloc(d, DEVICE_MEMORY_DEVICE, s->bytes, &s->original);
    if (!code) code = d->alloc(d, DEVICE_MEMORY_DEVICE, s->bytes / LADDER_REDUCE_BLOCK, &s->partial);
    if (!code) code = d->alloc(d, DEVICE_MEMORY_DEVICE, sizeof(word64), &s->result);
    if (!code && c->rung->enqueue == run_library) code = cub_sum(c, nullptr, &s->library_bytes);
    if (!code && s->library_bytes > 0) code = d->alloc(d, DEVICE_MEMORY_DEVICE, s->library_bytes, &s->library);
    if (!code) code = d->fill_bytes(d, s->data, 0, s->bytes, c->stream);
    if (!code) code = ladder_fill_random(c, s->data, c->size, LADDER_SEED);
    if (!code && s->original) code = d->copy(d, s->original, s->data, s->bytes, c->stream);
    return code ? code : ladder_poison(c, s->result, sizeof(word64));
}

void destroy(ladder_case *c)
{
    ladder_reduce *s = (ladder_reduce *)c->state;
    if (!s) return;
    void *const all[] = { s->original, s->data, s->partial, s->result, s->library };
    for (void *p : all) (void)c->d->free(c->d, DEVICE_MEMORY_DEVICE, p);
    free(s);
    c->state = nullptr;
}

int verify(ladder_case *c, ladder_verdict *v)
{
    const ladder_reduce *s = (const ladder_reduce *)c->state;
    const uint64_t mask = c->type == DTYPE_F32 ? UINT32_MAX : UINT64_MAX;
    const uint64_t wanted = ladder_random_sum(c->type, c->size, LADDER_SEED) & mask;
    uint64_t found = 0;
    int code = c->d->copy(c->d, &found, s->result, sizeof found, c->stream);
    if (!code) code = c->d->stream_sync(c->d, c->stream);
    ladder_right(v);
    if ((found & mask) != wanted)
        ladder_wrong(v, "the sum is %llx, not %llx", (unsigned long long)(found & mask), (unsigned long long)wanted);
    return code;
}

/* ---- the table ---- */

constexpr ladder_rung rung(const char *name, const char *why, int (*enqueue)(ladder_case *))
{
    ladder_rung r = {};
    r.name = name;
    r.why = why;
    r.prepare = prepare;
    r.enqueue = enqueue;
    r.verify = verify;
    r.destroy = destroy;
    r.unit = LADDER_BYTES;
    r.ceiling = "read";
    return r;
}

constexpr ladder_rung in_place(const char *name, const char *why, int (*enqueue)(ladder_case *))
{
    ladder_rung r = rung(name, why, enqueue);
    r.before = restore;
    return r;
}

constexpr ladder_rung nested(const char *name, const char *why)
{
    ladder_rung r = rung(name, why, ladder_reduce_nested);
    r.missing = ladder_reduce_nested_missing;
    return r;
}

const ladder_rung rungs[] = {
    ladder_taught(in_place("neighboured", "few threads of every warp work", ladder_reduce_neighboured),
                  "Thread t adds its neighbour's number if t is a multiple of 2, then of 4, of 8 ...: in each round the threads "
                  "that work are spread over all warps, and every warp runs for the sake of a few of its threads."),
    ladder_taught(in_place("neighbouredTogether", "the same additions, whole warps", ladder_reduce_together),
                  "The same additions, done by the first threads of the block: whole warps work and whole warps are done."),
    ladder_taught(in_place("interleaved", "halves: a warp loads whole lines", ladder_reduce_interleaved),
                  "Halves instead of neighbours: thread t adds the number half the length away. The warp's loads are whole lines "
                  "now."),
    ladder_taught(in_place("unroll2", "two loads in flight per thread", ladder_reduce_unroll2),
                  "A block takes the words of two: each thread adds two words before the first round. Both loads are on their "
                  "way at once, and the same rounds serve twice the words."),
    ladder_taught(in_place("unroll4", "four", ladder_reduce_unroll4),
                  "The same with four words per thread, and a quarter of the rounds per word."),
    ladder_taught(in_place("unroll8", "eight", ladder_reduce_unroll8),
                  "With eight it comes to .73 of the read (u32, one H200), from .17 of interleaved: bytes on their way were "
                  "missing, and what is left are rounds through L1."),
    ladder_taught(in_place("unrollLastWarp", "six rounds without a block's barrier", ladder_reduce_unrolled_last_warp),
                  "In the last six rounds a single warp works, which needs a barrier of its own only. The barriers of the "
                  "block are saved, yet the rate falls to .67 on one H200: they were not what it waited for."),
    ladder_taught(in_place("unrollCompletely", "no loop, size asked at run time", ladder_reduce_unrolled_completely),
                  "No loop at all. The block's size is still asked for at run time, once per round."),
    ladder_taught(in_place("template", "size known when compiled", ladder_reduce_sized_by_template),
                  "The block's size is an argument of the template: the compiler drops the questions that unrollCompletely "
                  "asks and the rounds that a smaller block has not. The same rate again: one comparison per round is nothing "
                  "beside memory."),
    ladder_taught(rung("shared", "rounds stay on the chip", ladder_reduce_in_shared),
                  "Eight words per thread are read as before, but all rounds take place in shared memory. Global memory is "
                  "read once, one word per block is written, and the input stays as it was: .92 of the read on one H200."),
    ladder_taught(rung("shuffle", "rounds stay in registers", ladder_reduce_by_shuffles),
                  "A warp sums its words by five shuffles, without memory or barrier; one word per warp then meets in shared "
                  "memory. No faster than shared, since reading is the limit by now, but nothing is kept in shared memory "
                  "besides."),
    ladder_taught(rung("atomicPerBlock", "one pass, one atomic per block", ladder_reduce_atomic_a_block),
                  "The block's sum is added to the result by an atomic, and the second kernel goes; the result is zeroed "
                  "before. One atomic for 4096 words does not queue: as fast as two passes. With floating-point numbers the "
                  "order, and so the rounding, would change from run to run."),
    ladder_taught(rung("atomicPerThread", "no tree: atomics queue at one address", ladder_reduce_atomic_a_thread),
                  "Each thread adds the sum of its eight words to the result. L2 serves the atomics on one address one after "
                  "the other: .20 of the read on one H200, and far less with words of 8 bytes, since only those of 4 are "
                  "merged within a warp first."),
    ladder_taught(nested("nested", "each level launches the next"),
                  "Each level of the tree launches the next from the GPU, to start when its own grid is done (tail launch). "
                  "That pays where only the GPU knows what is to be launched; here the CPU knows, and its second launch costs "
                  "less: .76 against .92 of shuffle."),
    ladder_taught(rung("library", "CUB as the reference", run_library),
                  "cub::DeviceReduce::Sum, as CUDA ships it: little more than shared and shuffle, and below the ceiling's own "
                  "loop, which is what a pass over memory leaves to be won."),
};

const ladder_parameter parameters[] = {
    { "n", 1 << 27, 1, (int64_t)1 << 34, "words to sum" },
};

} // namespace

const ladder_family ladder_reduce_cuda = {
    DEVICE_CUDA, "reduce", "how thousands of threads agree on one number", { "u32", "u64" },
    parameters, sizeof parameters / sizeof parameters[0], rungs, sizeof rungs / sizeof rungs[0],
    teaches, nullptr,
};
