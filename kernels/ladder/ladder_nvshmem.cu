/* Rows that go straight to where the neighbour wants them, by NVSHMEM's calls on a stream: a signal says that
 * memory is free, a put with a signal brings the rows and says so. On one host NVSHMEM makes of a put a copy
 * of the driver, and of a signal a word that the stream writes and waits for: no kernel of weft's runs.
 *
 * An address in the memory that NVSHMEM gives stands for the same place in that of any rank. The library is
 * opened when first asked for, as NCCL's is (transport_nccl.c); it starts once in a process. */
#include "ladder/ladder_direct.h"

#if __has_include(<nvshmem_host.h>)

#include <nvshmem_host.h>
#include <stdlib.h>
#include <string.h>

#include "device/device_cuda.h"
#include "device/library.h"

namespace {

#define CALLS(DO)                            \
    DO(nvshmemx_get_uniqueid)                \
    DO(nvshmemx_set_attr_uniqueid_args)      \
    DO(nvshmemx_hostlib_init_attr)           \
    DO(nvshmemx_init_status)                 \
    DO(nvshmemx_hostlib_finalize)            \
    DO(nvshmem_malloc)                       \
    DO(nvshmem_free)                         \
    DO(nvshmem_ptr)                          \
    DO(nvshmemx_signal_op_on_stream)         \
    DO(nvshmemx_signal_wait_until_on_stream) \
    DO(nvshmemx_putmem_signal_on_stream)
LIBRARY(CALLS)

bool started;
static_assert(sizeof(ladder_library_id) == sizeof(nvshmemx_uniqueid_t));

struct window : ladder_window {
    int first, ranks; /* 0 before it is opened */
};

bool find(ladder_library_id *id, sentence *why)
{
    nvshmemx_uniqueid_t made = NVSHMEMX_UNIQUEID_INITIALIZER;
    if (!find_library("libnvshmem_host.so.3"))
        return sentence_refuse(why, "the library cannot be opened: %s", dlerror());
    /* it looks for network cards else, and does not start where it finds none that it knows */
    (void)setenv("NVSHMEM_REMOTE_TRANSPORT", "none", 0);
    /* a thread that spins until the end, for kernels that end the job */
    (void)setenv("NVSHMEM_DISABLE_LOCAL_ONLY_PROXY", "1", 0);
    if (id && library.nvshmemx_get_uniqueid(&made) != 0)
        return sentence_refuse(why, "NVSHMEM makes no id for this job");
    if (id) memcpy(id, &made, sizeof made);
    return true;
}

bool start(const ladder_library_id *id, int rank, int ranks, sentence *why)
{
    nvshmemx_init_attr_t how = NVSHMEMX_INIT_ATTR_INITIALIZER;
    nvshmemx_uniqueid_t made;
    memcpy(&made, id, sizeof made);
    /* its 0 may mean that it tries again when memory is asked for, and that this ends the process */
    started = library.nvshmemx_set_attr_uniqueid_args(rank, ranks, &made, &how) == 0 &&
              library.nvshmemx_hostlib_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &how) == 0 &&
              library.nvshmemx_init_status() == NVSHMEM_STATUS_IS_INITIALIZED;
    return started || sentence_refuse(why, "NVSHMEM does not start; NVSHMEM_DEBUG=INFO says more");
}

/* A barrier of all ranks begins it. One ends the start: all have started, or none. */
void stop(void)
{
    if (started) library.nvshmemx_hostlib_finalize();
    started = false;
}

ladder_window *create(void *, int64_t bytes, sentence *why)
{
    void *const memory = library.nvshmem_malloc((size_t)bytes);
    if (memory) return new window{ { memory }, 0, 0 };
    return sentence_set(why, "NVSHMEM has no %lld bytes", (long long)bytes), nullptr;
}

bool open(ladder_window *w, int first, int ranks, sentence *why)
{
    ((window *)w)->first = first, ((window *)w)->ranks = ranks;
    for (int rank = first; rank < first + ranks; rank++)
        if (!library.nvshmem_ptr(w->memory, rank))
            return sentence_refuse(why, "NVSHMEM does not reach the memory of rank %d", rank);
    return true;
}

/* Waits for all ranks, if they all have it. */
void destroy(ladder_window **w)
{
    window *n = (window *)*w;
    if (n && n->ranks) library.nvshmem_free(n->memory);
    delete n;
    *w = nullptr;
}

/* All questions are asked before any is waited for, and all rows leave before any are: streams of ranks that
 * exchange twice with each other never wait crosswise. */
int exchange(ladder_window *w, const ladder_links *all, uint64_t n, device_stream *s)
{
    const int first = ((const window *)w)->first;
    const ladder_direct *const end = all->of + all->count;
    cudaStream_t const stream = device_cuda_stream(s);
    for (const ladder_direct *l = all->of; l < end; l++)
        library.nvshmemx_signal_op_on_stream(&l->flags_there->free, n, NVSHMEM_SIGNAL_SET, first + l->rank,
                                             stream);
    for (const ladder_direct *l = all->of; l < end; l++)
        library.nvshmemx_signal_wait_until_on_stream(&l->flags_here->free, NVSHMEM_CMP_GE, n, stream);
    for (const ladder_direct *l = all->of; l < end; l++)
        library.nvshmemx_putmem_signal_on_stream(l->there, l->here, (size_t)l->bytes,
                                                 &l->flags_there->arrived, n, NVSHMEM_SIGNAL_SET,
                                                 first + l->rank, stream);
    for (const ladder_direct *l = all->of; l < end; l++)
        library.nvshmemx_signal_wait_until_on_stream(&l->flags_here->arrived, NVSHMEM_CMP_GE, n, stream);
    return cudaGetLastError();
}

} // namespace

const ladder_library ladder_nvshmem = { nullptr, find, start, stop, create, open, destroy, exchange };

#else

const ladder_library ladder_nvshmem = { "this weft was built without NVSHMEM (make NVSHMEM_HOME=DIR)" };

#endif
