/* The messages of the transport nccl: one grouped call of sends and receives, on the exchange's stream, so
 * that the host never waits.
 *
 * NCCL has no tags: messages between two ranks match in the order of the calls. Two ranks may share several
 * links (two ranks around a periodic axis), so sends go out by rising direction of the sender, and receives
 * are called in that same order, which is the falling order of the receiver's own directions. Invariant: the
 * receive buffer is overwritten only after the last unpack, because both stand on one stream in that order,
 * or on two with an event between them.
 *
 * The library is opened when first asked for, so that a program that was built with NCCL starts without it.
 * NCCL's communicator is an attribute of the MPI communicator that the halo was made for, and has its ranks.
 * Its set-up takes much of a second: the first halo makes it, later halos of that MPI communicator use it,
 * and MPI_Comm_free ends it. By then no halo uses it, and all graphs that captured an exchange are destroyed
 * (ncclCommDestroy waits for them). Disadvantage: ranks that share a GPU cannot use it (NCCL's own rule). */

#include "transports/message.h"

#if WEFT_NCCL

#include <assert.h>
#include <dlfcn.h>
#include <nccl.h>
#include <stdlib.h>
#include <string.h>

#include "device/device_cuda.h"
#include "ranks/check.h"
#include "ranks/ranks.h"

/* The functions that are used, of the types that NCCL's header gives them; GetLastError since NCCL 2.13. */
#define FUNCTIONS(X)                                                                                 \
    X(GetUniqueId) X(CommInitRank) X(CommDestroy) X(GroupStart) X(GroupEnd) X(Send) X(Recv)          \
    X(GetErrorString) X(GetLastError)
#define POINTER(name) __typeof__(nccl##name) *name;
#define WANTED(name) { "nccl" #name, &nccl.name },

static struct {
    void *handle;
    FUNCTIONS(POINTER)
} nccl;

static int communicator_key = MPI_KEYVAL_INVALID; /* of the attribute */

/* "invalid argument: Send : invalid root 2 (root should be in the 0..2 range)" */
static const char *error_text(ncclResult_t code)
{
    static _Thread_local sentence said;
    const char *const last = nccl.GetLastError(NULL);
    sentence_set(&said, "%s%s%s", nccl.GetErrorString(code), last[0] ? ": " : "", last);
    said.text[strcspn(said.text, "\n")] = '\0';
    return said.text;
}

#define NCCL_CHECK(call)                                                                             \
    do {                                                                                             \
        const ncclResult_t nccl_code_ = (call);                                                      \
        if (nccl_code_ != ncclSuccess) check_fail(__FILE__, __LINE__, #call, error_text(nccl_code_)); \
    } while (0)

/* A failure is remembered by nccl.handle alone: a library that lacks a function is as good as none. */
static bool open_library(sentence *why)
{
    static const struct {
        const char *name;
        void *function; /* ISO C has no conversion from an object's to a function's pointer */
    } wanted[] = { FUNCTIONS(WANTED) };
    if (nccl.handle) return true;
    bool sound = (nccl.handle = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL)) != NULL;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted && sound; i++) {
        void *const found = dlsym(nccl.handle, wanted[i].name);
        memcpy(wanted[i].function, &found, sizeof found);
        sound = found != NULL;
    }
    if (sound) return true;
    sentence_set(why, "the library cannot be opened: %s", dlerror());
    if (nccl.handle) dlclose(nccl.handle);
    nccl.handle = NULL;
    return false;
}

/* MPI_Comm_free calls it. */
static int end_communicator(MPI_Comm comm, int key, void *attribute, void *state)
{
    return nccl.CommDestroy(attribute) == ncclSuccess ? MPI_SUCCESS : MPI_ERR_OTHER;
}

message_nccl *message_nccl_of(const transport_links *on, sentence *why)
{
    const MPI_Comm comm = on->comm;
    const int rank = ranks_mine(comm), ranks = ranks_count(comm);
    ncclComm_t made = NULL;
    ncclUniqueId id;
    int there = 0;
    for (int i = 1; i < on->count; i++) assert(on->link[i].direction > on->link[i - 1].direction);
    if (communicator_key == MPI_KEYVAL_INVALID)
        MPI_CHECK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end_communicator, &communicator_key, NULL));
    MPI_CHECK(MPI_Comm_get_attr(comm, communicator_key, &made, &there));
    if (there) return (message_nccl *)made;
    if (on->d->kind != DEVICE_CUDA) sentence_set(why, "the host device has transport staged only");
    if (!agree_or_say(on->d->kind == DEVICE_CUDA, why, comm)) return NULL;
    if (!agree_or_say(open_library(why), why, comm)) return NULL;
    (void)setenv("NCCL_NVLS_ENABLE", "0", 0); /* multicast serves collectives; sends and receives need none
                                               * of its memory */
    ncclResult_t code = rank == 0 ? nccl.GetUniqueId(&id) : ncclSuccess;
    if (code != ncclSuccess) sentence_set(why, "%s", error_text(code));
    if (!agree_or_say(code == ncclSuccess, why, comm)) return NULL;
    MPI_CHECK(MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, comm));
    code = nccl.CommInitRank(&made, ranks, id, rank);
    if (code != ncclSuccess) sentence_set(why, "rank %d of %d: %s", rank, ranks, error_text(code));
    if (!agree_or_say(code == ncclSuccess, why, comm)) {
        if (code == ncclSuccess) (void)nccl.CommDestroy(made);
        return NULL;
    }
    MPI_CHECK(MPI_Comm_set_attr(comm, communicator_key, made));
    return (message_nccl *)made;
}

void message_nccl_exchange(message_nccl *n, const message_flow *f, char *from, char *to, device_stream *s)
{
    ncclComm_t comm = (ncclComm_t)n;
    cudaStream_t stream = device_cuda_stream(s);
    NCCL_CHECK(nccl.GroupStart());
    for (int i = 0; i < f->sends; i++) {
        const message_part *m = &f->out[i];
        NCCL_CHECK(nccl.Send(from + m->at, (size_t)m->bytes, ncclUint8, m->rank, comm, stream));
    }
    for (int i = f->receives - 1; i >= 0; i--) {
        const message_part *m = &f->in[i];
        NCCL_CHECK(nccl.Recv(to + m->at, (size_t)m->bytes, ncclUint8, m->rank, comm, stream));
    }
    NCCL_CHECK(nccl.GroupEnd());
}

#else

message_nccl *message_nccl_of(const transport_links *on, sentence *why)
{
    sentence_set(why, "this weft was built without NCCL (make NCCL=1)");
    return NULL;
}

void message_nccl_exchange(message_nccl *n, const message_flow *f, char *from, char *to, device_stream *s)
{
}

#endif

const bool transport_nccl_built = WEFT_NCCL;
