#include "bench/bench_link.h"

#include <assert.h>

#include "ranks/check.h"
#include "transports/peer.h"

typedef struct bench_link {
    MPI_Comm comm; /* not owned */
    message_part message[BENCH_LINK_MESSAGES_MAX];
    int count, rank; /* rank: of this one in comm */
    int64_t bytes;
    bench_link_by by;
    bool sends, receives;
    char *out, *in;
    peer *peer;                    /* owner of `in`, if not NULL, as is: */
    const ladder_library *library; /* of the window */
    ladder_window *window;
    char *theirs[BENCH_LINK_MESSAGES_MAX]; /* their `in`, here */
    ladder_links direct;                   /* flags lie behind `in` */
    uint64_t exchanges;
    device_stream *beside[BENCH_LINK_MESSAGES_MAX]; /* of copy engines, for each message */
    device_event *mark;                             /* a wait is for its last record so far */
} bench_link;

const char *bench_link_unaware(const bench_world *world, device *d)
{
    static bool asked, aware;
    static sentence why;
    if (!asked) aware = topology_probe_aware(world->top, d, TOPOLOGY_SELF_EXE, &why);
    asked = true;
    return aware ? NULL : why.text;
}

bool bench_link_carries(ladder_case *c)
{
    const bool needed = bench_way_of(c->rung) == TRANSPORT_AWARE;
    const char *const why = needed ? bench_link_unaware(bench_world_of(c), c->d) : NULL;
    return !why || sentence_refuse(&c->missing, "%s", why);
}

const char *bench_link_refusal(const ladder_rung *r, device_kind kind, int ranks)
{
    if (ranks < 2) return "needs at least 2 ranks";
    if (kind == DEVICE_HOST && bench_way_of(r) >= BENCH_LINK(ENGINE)) return "needs a GPU";
    if (kind == DEVICE_HOST && bench_way_of(r) < TRANSPORT_KINDS && bench_way_of(r) != TRANSPORT_STAGED)
        return "the host device has transport staged only";
    return bench_world_uncut(r, kind, ranks);
}

static bool tells_others(const bench_link *l) { return l->by >= BENCH_LINK_ENGINE; }

static bool stores_in_bulk(ladder_case *c, const bench_link *l)
{
    bool can = false;
#if WEFT_CUDA
    can = ladder_direct_bulk(&l->direct, 0, NULL) == 0;
#endif
    if (!can) sentence_set(&c->missing, "bulk stores need compute capability 9.0");
    return agree_or_say(can, &c->missing, bench_world_of(c)->top->comm);
}

static bool maps_theirs(ladder_case *c, bench_link *l)
{
    int ranks[BENCH_LINK_MESSAGES_MAX];
    const size_t bytes = (size_t)l->bytes + sizeof(ladder_direct_flags) * (size_t)l->count;
    for (int i = 0; i < l->count; i++) ranks[i] = l->message[i].rank;
    l->peer = peer_create(c->d, ranks, l->count, bytes, (void **)l->theirs, l->comm, &c->missing);
    if (!agree_or_say(l->peer != NULL, &c->missing, bench_world_of(c)->top->comm)) {
        peer_destroy(&l->peer);
        return false;
    }
    l->in = peer_own(l->peer);
    return true;
}

#if WEFT_CUDA
/* It starts once in a process; bench_world_destroy stops it. */
static bool runs_nvshmem(const topology *top, sentence *why)
{
    static bool asked, runs;
    static sentence refused;
    ladder_library_id id = { { 0 } };
    if (!asked) {
        runs = top->ranks_on_device == 1 || sentence_refuse(&refused, "ranks that share a GPU wait in vain");
        runs = runs && ladder_nvshmem.find(top->rank == 0 ? &id : NULL, &refused);
        runs = agree_or_say(runs, &refused, top->comm);
        MPI_CHECK(MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, top->comm));
        runs = runs &&
               agree_or_say(ladder_nvshmem.start(&id, top->rank, top->ranks, &refused), &refused, top->comm);
    }
    asked = true;
    return runs || sentence_refuse(why, "%s", refused.text);
}
#endif

/* Memory of a library's own, with flags. */
static bool opens_window(ladder_case *c, bench_link *l)
{
    bool ok = false;
#if WEFT_CUDA
    sentence *const why = &c->missing;
    const topology *const top = bench_world_of(c)->top;
    const transport_links on = { .kind = TRANSPORT_NCCL, .d = c->d, .comm = l->comm };
    const size_t flag_bytes = sizeof(ladder_direct_flags) * (size_t)l->count;
    void *comm = NULL;
    l->library = l->by == BENCH_LINK_NCCL ? &ladder_nccl : &ladder_nvshmem;
    if (l->library->missing) return sentence_refuse(why, "%s", l->library->missing);
    if (l->by == BENCH_LINK_NCCL) ok = (comm = message_nccl_of(&on, why)) != NULL;
    else ok = runs_nvshmem(top, why);
    if (!agree_or_say(ok, why, top->comm)) return false;
    l->window = l->library->create(comm, l->bytes + (int64_t)flag_bytes, why);
    ok = agree_or_say(l->window != NULL, why, top->comm) &&
         agree_or_say(l->library->open(l->window, top->rank - l->rank, ranks_count(l->comm), why), why,
                      top->comm);
    if (!ok) {
        l->library->destroy(&l->window);
        return false;
    }
    l->in = l->window->memory;
    for (int i = 0; i < l->count; i++) l->theirs[i] = l->in;
    DEVICE_CALL(c->d, fill_bytes, l->in + l->bytes, 0, flag_bytes, c->stream);
#endif
    return ok;
}

/* Others' memory where every rank reaches it, on all ranks or none; the host device always takes messages. */
static bool choose_way(ladder_case *c, bench_link *l, device_memory *memory)
{
    const bool gpu = c->d->kind == DEVICE_CUDA;
    *memory = DEVICE_MEMORY_DEVICE;
    if (l->by >= BENCH_LINK_NCCL) return opens_window(c, l);
    if (l->by == BENCH_LINK_BULK && !stores_in_bulk(c, l)) return false;
    const bool reached = gpu && l->by != BENCH_LINK_MESSAGES && maps_theirs(c, l);
    if (reached || tells_others(l)) return reached;
    if (!gpu || bench_link_unaware(bench_world_of(c), c->d)) *memory = DEVICE_MEMORY_PINNED;
    return true;
}

/* The message that a rank sends with this tag begins with this one of the random cells. */
static int64_t first_cell(int rank, int tag) { return ((int64_t)rank * BENCH_LINK_MESSAGES_MAX + tag) << 32; }

static int64_t cells_of(const ladder_case *c, int64_t bytes) { return bytes / (int64_t)dtype_bytes(c->type); }

static void fill(ladder_case *c, const bench_link *l)
{
    for (int i = 0; i < l->count; i++)
        DEVICE_CHECK(c->d, ladder_fill_random(c, l->out + l->message[i].at, first_cell(l->rank, i),
                                              cells_of(c, l->message[i].bytes)));
    DEVICE_CHECK(c->d, ladder_poison(c, l->in, (size_t)l->bytes));
    DEVICE_CALL(c->d, stream_sync, c->stream);
    MPI_CHECK(MPI_Barrier(l->comm)); /* nothing is sent before the receiver has poisoned */
}

/* Message i answers theirs of number count - 1 - i, and goes to where that one comes from. */
static void make_direct(device *d, bench_link *l)
{
    for (int i = 0; i < l->count; i++) {
        const int back = l->count - 1 - i;
        l->direct.of[l->direct.count++] =
            (ladder_direct){ .here = l->out + l->message[i].at,
                             .bytes = message_align(l->message[i].bytes),
                             .there = l->theirs[i] + l->message[back].at,
                             .flags_there = (ladder_direct_flags *)(void *)(l->theirs[i] + l->bytes) + back,
                             .flags_here = (ladder_direct_flags *)(void *)(l->in + l->bytes) + i,
                             .rank = l->message[i].rank,
                             .at = l->message[back].at };
        DEVICE_CALL(d, stream_create, false, &l->beside[i]);
    }
    DEVICE_CALL(d, event_create, false, &l->mark);
}

int bench_link_prepare(ladder_case *c, MPI_Comm comm, const message_part *message, int count)
{
    assert(count <= BENCH_LINK_MESSAGES_MAX);
    bench_link *l = ladder_state(c, sizeof *l);
    const bench_link_by by = (bench_link_by)(bench_way_of(c->rung) - TRANSPORT_KINDS);
    device_memory memory;
    l->comm = comm;
    l->by = by;
    l->count = count;
    l->rank = ranks_mine(comm);
    c->uneven = by == BENCH_LINK_ONEWAY;
    l->sends = by != BENCH_LINK_ONEWAY || l->rank == bench_world_of(c)->sender;
    l->receives = by != BENCH_LINK_ONEWAY || !l->sends;
    for (int i = 0; i < count; i++) {
        l->message[i] = (message_part){ message[i].rank, i, l->bytes, message[i].bytes };
        l->bytes += message_align(message[i].bytes);
        c->work += (double)message[i].bytes;
    }
    c->size = by < BENCH_LINK_MESSAGES ? (int64_t)c->work : cells_of(c, (int64_t)c->work);
    if (!choose_way(c, l, &memory)) return 0;
    c->missing.text[0] = '\0';
    c->way = c->d->kind == DEVICE_HOST        ? "MPI"
             : tells_others(l)                ? "into place"
             : l->peer                        ? "peer copy"
             : memory == DEVICE_MEMORY_DEVICE ? "MPI, device"
                                              : "MPI, pinned";
    const size_t block_bytes = (size_t)(l->peer ? l->bytes : message_block_bytes(l->bytes));
    DEVICE_CHECK(c->d, ladder_alloc(c, memory, block_bytes, (void **)&l->out));
    if (!l->in) DEVICE_CHECK(c->d, ladder_alloc(c, memory, block_bytes, (void **)&l->in));
    if (tells_others(l)) make_direct(c->d, l);
    fill(c, l);
    return 0;
}

void bench_link_destroy(ladder_case *c)
{
    bench_link *l = c->state;
    if (!l || !l->out) return;
    for (int i = 0; i < l->direct.count; i++) DEVICE_CALL(c->d, stream_destroy, &l->beside[i]);
    if (l->mark) DEVICE_CALL(c->d, event_destroy, &l->mark);
    peer_destroy(&l->peer);
#if WEFT_CUDA
    if (l->window) l->library->destroy(&l->window);
#endif
}

static void run_messages(const bench_link *l)
{
    MPI_Request request[2 * BENCH_LINK_MESSAGES_MAX];
    int requests = 0;
    const message_part *const first = l->message, *const end = first + l->count;
    for (const message_part *m = first; m < end && l->receives; m++)
        MPI_CHECK(MPI_Irecv(l->in + m->at, (int)m->bytes, MPI_BYTE, m->rank, l->count - 1 - m->tag, l->comm,
                            &request[requests++]));
    for (const message_part *m = first; m < end && l->sends; m++)
        MPI_CHECK(MPI_Isend(l->out + m->at, (int)m->bytes, MPI_BYTE, m->rank, m->tag, l->comm,
                            &request[requests++]));
    MPI_CHECK(MPI_Waitall(requests, request, MPI_STATUSES_IGNORE));
}

static void run_peer_copies(const ladder_case *c, const bench_link *l)
{
    for (int i = 0; i < l->count && l->sends; i++)
        DEVICE_CALL(c->d, copy, l->theirs[i] + l->message[l->count - 1 - i].at, l->out + l->message[i].at,
                    (size_t)l->message[i].bytes, c->stream);
}

/* Copies lie between two small kernels, which ask and tell. */
static void run_direct(const ladder_case *c, bench_link *l)
{
#if WEFT_CUDA
    device *d = c->d;
    const uint64_t n = ++l->exchanges;
    if (l->window) {
        DEVICE_CHECK(d, l->library->exchange(l->window, &l->direct, n, c->stream));
        return;
    }
    if (l->by == BENCH_LINK_BULK) {
        DEVICE_CHECK(d, ladder_direct_bulk(&l->direct, n, c->stream));
        return;
    }
    DEVICE_CHECK(d, ladder_direct_begin(&l->direct, n, c->stream));
    DEVICE_CALL(d, event_record, l->mark, c->stream);
    for (int i = 0; i < l->count; i++) DEVICE_CALL(d, event_wait, l->mark, l->beside[i]);
    for (int i = 0; i < l->count; i++) {
        const ladder_direct *m = &l->direct.of[i];
        DEVICE_CALL(d, copy, m->there, m->here, (size_t)m->bytes, l->beside[i]);
        DEVICE_CALL(d, event_record, l->mark, l->beside[i]);
        DEVICE_CALL(d, event_wait, l->mark, c->stream);
    }
    DEVICE_CHECK(d, ladder_direct_end(&l->direct, n, c->stream));
#endif
}

int bench_link_enqueue(ladder_case *c)
{
    bench_link *l = c->state;
    if (tells_others(l)) run_direct(c, l);
    else if (!l->peer) run_messages(l);
    else run_peer_copies(c, l);
    return 0;
}

int bench_link_verify(ladder_case *c, ladder_verdict *v)
{
    const bench_link *l = c->state;
    int code = c->d->stream_sync(c->d, c->stream);
    MPI_CHECK(MPI_Barrier(l->comm)); /* whoever copies into our memory has done so */
    for (int i = 0; i < l->count && l->receives && v->right && !code; i++) {
        const message_part *m = &l->message[i];
        code = ladder_compare_random(c, l->in + m->at, first_cell(m->rank, l->count - 1 - i),
                                     cells_of(c, m->bytes), v);
        if (!v->right)
            ladder_wrong(v, "rank %d: message %d did not arrive as it was sent (%s)",
                         bench_world_of(c)->top->rank, i, c->way);
    }
    return code;
}
