/* The transport nccl: all boundary boxes packed by one kernel, one grouped call of sends and receives, one
 * unpack, all on the exchange's stream, so that the host never waits. Where all boxes are contiguous they are
 * sent and received where they are.
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

#include "transports/transport.h"

#if WEFT_NCCL

#include <assert.h>
#include <dlfcn.h>
#include <nccl.h>
#include <stdlib.h>
#include <string.h>

#include "device/device_cuda.h"
#include "ranks/check.h"
#include "ranks/ranks.h"
#include "transports/message.h"

static struct {
    void *handle;
    ncclResult_t (*get_unique_id)(ncclUniqueId *);
    ncclResult_t (*comm_init_rank)(ncclComm_t *, int, ncclUniqueId, int);
    ncclResult_t (*comm_destroy)(ncclComm_t);
    ncclResult_t (*group_start)(void);
    ncclResult_t (*group_end)(void);
    ncclResult_t (*send)(const void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
    ncclResult_t (*recv)(void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
    const char *(*error_string)(ncclResult_t);
    const char *(*last_error)(ncclComm_t);
} nccl;

static int communicator_key = MPI_KEYVAL_INVALID; /* of the attribute */

/* "invalid argument: Send : invalid root 2 (root should be in the 0..2 range)" */
static const char *error_text(ncclResult_t code)
{
    static _Thread_local sentence said;
    const char *const last = nccl.last_error(NULL);
    sentence_set(&said, "%s%s%s", nccl.error_string(code), last[0] ? ": " : "", last);
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
    } wanted[] = {
        { "ncclGetUniqueId", &nccl.get_unique_id },  { "ncclCommInitRank", &nccl.comm_init_rank },
        { "ncclCommDestroy", &nccl.comm_destroy },   { "ncclGroupStart", &nccl.group_start },
        { "ncclGroupEnd", &nccl.group_end },         { "ncclSend", &nccl.send },
        { "ncclRecv", &nccl.recv },                  { "ncclGetErrorString", &nccl.error_string },
        { "ncclGetLastError", &nccl.last_error }, /* since NCCL 2.13 */
    };
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
    return nccl.comm_destroy(attribute) == ncclSuccess ? MPI_SUCCESS : MPI_ERR_OTHER;
}

static ncclComm_t kept_by(MPI_Comm comm)
{
    void *attribute = NULL;
    int there = 0;
    if (communicator_key != MPI_KEYVAL_INVALID)
        MPI_CHECK(MPI_Comm_get_attr(comm, communicator_key, &attribute, &there));
    return there ? attribute : NULL;
}

static void keep(MPI_Comm comm, ncclComm_t made)
{
    if (communicator_key == MPI_KEYVAL_INVALID)
        MPI_CHECK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end_communicator, &communicator_key, NULL));
    MPI_CHECK(MPI_Comm_set_attr(comm, communicator_key, made));
}

/* NULL on all ranks, with the reason, where it cannot be made. */
static ncclComm_t communicator_of(const device *d, MPI_Comm comm, sentence *why)
{
    const int rank = ranks_mine(comm), ranks = ranks_count(comm);
    ncclComm_t made = kept_by(comm);
    ncclUniqueId id;
    if (made) return made;
    if (d->kind != DEVICE_CUDA) sentence_set(why, "the host device has transport staged only");
    if (!agree_or_say(d->kind == DEVICE_CUDA, why, comm)) return NULL;
    if (!agree_or_say(open_library(why), why, comm)) return NULL;
    (void)setenv("NCCL_NVLS_ENABLE", "0", 0); /* multicast serves collectives; sends and receives need none
                                               * of its memory */
    ncclResult_t code = rank == 0 ? nccl.get_unique_id(&id) : ncclSuccess;
    if (code != ncclSuccess) sentence_set(why, "%s", error_text(code));
    if (!agree_or_say(code == ncclSuccess, why, comm)) return NULL;
    MPI_CHECK(MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, comm));
    code = nccl.comm_init_rank(&made, ranks, id, rank);
    if (code != ncclSuccess) sentence_set(why, "rank %d of %d: %s", rank, ranks, error_text(code));
    if (!agree_or_say(code == ncclSuccess, why, comm)) {
        if (code == ncclSuccess) (void)nccl.comm_destroy(made);
        return NULL;
    }
    keep(comm, made);
    return made;
}

typedef struct transport_nccl {
    transport base;
    ncclComm_t comm; /* not owned */
    bool contiguous; /* nothing is packed */
    pack_piece pack[PACK_PIECES_MAX];
    message_buffer out, in;
    void *field; /* between begin and end */
    device_stream *stream; /* of the last exchange; NULL before the first */
    device_event *unpacked;
} transport_nccl;

/* The first byte of a link's cells: in the field, or of those packed at that offset in the buffer. */
static char *cells_of(const transport_nccl *n, const message_buffer *packed, const pack_piece *piece)
{
    const field_shape *f = &n->base.on.shape;
    return n->contiguous ? field_at(f, n->field, piece->cells.x0, piece->cells.y0)
                         : packed->kernel + piece->offset * (int64_t)dtype_bytes(f->type);
}

static size_t bytes_of(const transport_nccl *n, const transport_link *l)
{
    const field_shape *f = &n->base.on.shape;
    return (size_t)(n->contiguous ? transport_span_bytes(f, l->send) : transport_cells_bytes(f, l->send));
}

static void nccl_begin(transport *t, void *field, device_stream *s)
{
    transport_nccl *n = (transport_nccl *)t;
    device *d = t->on.d;
    const int links = t->on.count;
    const transport_link *l = t->on.link;
    cudaStream_t stream = device_cuda_stream(s);
    if (n->stream && n->stream != s && !n->contiguous) DEVICE_CALL(d, event_wait, n->unpacked, s);
    n->stream = s;
    n->field = field;
    if (!n->contiguous) DEVICE_CALL(d, pack, &t->on.shape, field, n->out.kernel, n->pack, links, s);
    NCCL_CHECK(nccl.group_start());
    for (int i = 0; i < links; i++)
        NCCL_CHECK(nccl.send(cells_of(n, &n->out, &n->pack[i]), bytes_of(n, &l[i]), ncclUint8, l[i].rank,
                             n->comm, stream));
    for (int i = links - 1; i >= 0; i--)
        NCCL_CHECK(nccl.recv(cells_of(n, &n->in, &t->unpack[i]), bytes_of(n, &l[i]), ncclUint8, l[i].rank,
                             n->comm, stream));
    NCCL_CHECK(nccl.group_end());
}

static void nccl_end(transport *t)
{
    transport_nccl *n = (transport_nccl *)t;
    device *d = t->on.d;
    if (n->contiguous) return;
    DEVICE_CALL(d, unpack, &t->on.shape, n->field, n->in.kernel, t->unpack, t->on.count, UNPACK_STORE,
                n->stream);
    DEVICE_CALL(d, event_record, n->unpacked, n->stream);
}

static void nccl_destroy(transport **t)
{
    transport_nccl *n = (transport_nccl *)*t;
    device *d = n->base.on.d;
    DEVICE_CHECK(d, d->synchronize(d)); /* not the event, which a captured exchange has recorded for its
                                         * graph */
    DEVICE_CALL(d, event_destroy, &n->unpacked);
    message_buffer_destroy(&n->out);
    message_buffer_destroy(&n->in);
    free(n);
    *t = NULL;
}

transport *transport_nccl_create(const transport_links *on, sentence *why)
{
    const ncclComm_t communicator = communicator_of(on->d, on->comm, why);
    if (!communicator) return NULL;
    transport_nccl *n = CHECK_CALLOC(1, sizeof *n);
    n->base = (transport){ .begin = nccl_begin, .end = nccl_end, .destroy = nccl_destroy, .on = *on };
    n->comm = communicator;
    n->contiguous = transport_all_contiguous(on);
    const int64_t cell_bytes = (int64_t)dtype_bytes(on->shape.type);
    int64_t bytes = 0;
    for (int i = 0; i < on->count; i++) {
        const transport_link *l = &on->link[i];
        assert(i == 0 || l->direction > l[-1].direction);
        n->pack[i] = (pack_piece){ l->send, bytes / cell_bytes };
        n->base.unpack[i] = (pack_piece){ l->receive, bytes / cell_bytes };
        if (!n->contiguous) bytes += message_align(transport_cells_bytes(&on->shape, l->send));
    }
    n->out = message_buffer_create(on->d, TRANSPORT_NCCL, bytes);
    n->in = message_buffer_create(on->d, TRANSPORT_NCCL, bytes);
    DEVICE_CALL(on->d, event_create, false, &n->unpacked);
    return &n->base;
}

#else

transport *transport_nccl_create(const transport_links *on, sentence *why)
{
    sentence_set(why, "this weft was built without NCCL (make NCCL=1)");
    return NULL;
}

#endif

const bool transport_nccl_built = WEFT_NCCL;
