/* The plan of a halo exchange: which own cells go to which neighbour and which ghosts they fill; transports
 * do the rest.
 *
 * For the neighbour at (dx, dy): send the own cells within depth of that side (the whole extent along an axis
 * with d = 0), receive the ghosts on that side. The neighbour cuts the same shape, because a process grid is
 * a tensor product: neighbours across x have the same rows, across y the same columns. Corners are messages
 * of their own, so that one round brings everything.
 *
 * Fault hook, builds with WEFT_DEBUG only, for tests that must see a verifier fail: with the environment's
 * WEFT_FAULT = halo:DIRECTION rank 0 drops what comes from there. */
#include "exchange/halo.h"

#include <assert.h>
#include <stdlib.h>

#include "ranks/check.h"
#include "ranks/fault.h"
#include "ranks/ranks.h"
#include "transports/message.h"

struct halo {
    MPI_Comm comm; /* a duplicate: no tag of the caller or of another halo can meet ours */
    transport *transport[TRANSPORT_KINDS]; /* [count]: those that any rank uses, in their order */
    int count;
    sentence refused;
};

_Static_assert(TRANSPORT_STAGED < TRANSPORT_PEER && TRANSPORT_AWARE < TRANSPORT_PEER &&
                   TRANSPORT_MAPPED < TRANSPORT_PEER && TRANSPORT_PEER < TRANSPORT_NCCL,
               "sends that wait for the host come first");

/* Along an axis of n own cells. */
static int64_t ghosts_begin(int d, int64_t n, int depth) { return d < 0 ? -depth : d > 0 ? n : 0; }
static int64_t ghosts_end(int d, int64_t n, int depth) { return d < 0 ? 0 : d > 0 ? n + depth : n; }

box halo_ghosts(const field_shape *f, int depth, int direction)
{
    const int dx = decomp_dx[direction], dy = decomp_dy[direction];
    return box_make(ghosts_begin(dx, f->nx, depth), ghosts_end(dx, f->nx, depth),
                    ghosts_begin(dy, f->ny, depth), ghosts_end(dy, f->ny, depth));
}

size_t halo_field_bytes(device_kind of, const field_shape *f)
{
    return of == DEVICE_CUDA ? (size_t)message_block_bytes((int64_t)f->bytes) : f->bytes;
}

/* Side ghosts and padding lie between the rows of a box. Where only rows are cut a message may carry them
 * along: the boundary fill writes them afterwards. A fault needs an unpack, so no box is contiguous then. */
static transport_link make_link(const decomp *dec, const field_shape *f, int depth, int direction)
{
    const box ghosts = halo_ghosts(f, depth, direction);
    const box send = box_shift(ghosts, -depth * decomp_dx[direction], -depth * decomp_dy[direction]);
    return (transport_link){ .rank = dec->neighbour[direction],
                             .direction = direction,
                             .send = send,
                             .receive = ghosts,
                             .contiguous = (box_height(send) <= 1 || dec->ranks_x == 1) &&
                                           fault_asked("halo") < 0 };
}

/* Adds the links that go over on->kind. */
static void add_links(transport_links *on, const decomp *dec, int depth, bool corners,
                      const transport_choice *choice)
{
    for (int k = 0; k < DECOMP_NEIGHBOURS && depth > 0; k++) {
        if (dec->neighbour[k] < 0 || (decomp_is_corner(k) && !corners) || choice->toward[k] != on->kind)
            continue;
        /* an operator along x: no ghosts above and below */
        if (decomp_dy[k] != 0 && on->shape.depth_y == 0) continue;
        on->link[on->count++] = make_link(dec, &on->shape, depth, k);
    }
}

/* Makes all transports that any rank wants: nccl in communicator `caller`, the others in the halo's. Staged
 * comes last: it can always be had, and takes the links of those that cannot. */
static void make_transports(halo *h, const decomp *dec, device *d, const field_shape *shape, int depth,
                            bool corners, transport_choice choice, MPI_Comm caller)
{
    transport *made[TRANSPORT_KINDS] = { NULL };
    for (int t = TRANSPORT_KINDS; t-- > 0;) {
        transport_links on = { .kind = (transport_kind)t, .d = d, .shape = *shape };
        sentence why = { "" };
        on.comm = t == TRANSPORT_NCCL ? caller : h->comm;
        add_links(&on, dec, depth, corners, &choice);
        if (!agree_any(on.count > 0, h->comm)) continue;
        made[t] = transport_traits_of(on.kind)->create(&on, &why);
        for (int i = 0; made[t] && dec->rank == 0 && i < on.count; i++)
            if (on.link[i].direction == fault_asked("halo")) made[t]->unpack[i].cells = box_make(0, 0, 0, 0);
        if (made[t]) continue;
        sentence_set(&h->refused, "%s: %s", transport_kind_name(on.kind), why.text);
        for (int k = 0; k < DECOMP_NEIGHBOURS; k++)
            if (choice.toward[k] == on.kind) choice.toward[k] = TRANSPORT_STAGED;
    }
    for (int t = 0; t < TRANSPORT_KINDS; t++)
        if (made[t]) h->transport[h->count++] = made[t];
}

halo *halo_create(const decomp *dec, device *d, const field_shape *shape, int depth, bool corners,
                  const transport_choice *choice, MPI_Comm comm)
{
    assert(depth >= 0 && (dec->ranks_x == 1 || depth <= shape->depth_x) &&
           (shape->depth_y == 0 || depth <= shape->depth_y));
    assert(shape->nx == box_width(dec->own) && shape->ny == box_height(dec->own));
    halo *h = CHECK_CALLOC(1, sizeof *h);
    MPI_CHECK(ranks_dup(comm, &h->comm));
    make_transports(h, dec, d, shape, depth, corners, *choice, comm);
    return h;
}

void halo_destroy(halo **h)
{
    if (!h || !*h) return;
    for (int i = 0; i < (*h)->count; i++) (*h)->transport[i]->destroy(&(*h)->transport[i]);
    MPI_CHECK(ranks_free(&(*h)->comm));
    free(*h);
    *h = NULL;
}

static int links_of(const halo *h, int i) { return h->transport[i]->on.count; }

void halo_begin(halo *h, void *field, device_stream *s)
{
    for (int i = 0; i < h->count; i++)
        if (links_of(h, i) > 0) h->transport[i]->begin(h->transport[i], field, s);
}

void halo_progress(halo *h)
{
    for (int i = 0; i < h->count; i++)
        if (links_of(h, i) > 0 && h->transport[i]->progress) h->transport[i]->progress(h->transport[i]);
}

void halo_end(halo *h)
{
    for (int i = 0; i < h->count; i++)
        if (links_of(h, i) > 0 && h->transport[i]->end) h->transport[i]->end(h->transport[i]);
}

void halo_exchange(halo *h, void *field, device_stream *s)
{
    halo_begin(h, field, s);
    halo_end(h);
}

int64_t halo_sent_bytes(const halo *h)
{
    int64_t bytes = 0;
    for (int i = 0; i < h->count; i++)
        for (int k = 0; k < links_of(h, i); k++)
            bytes += transport_cells_bytes(&h->transport[i]->on.shape, h->transport[i]->on.link[k].send);
    return bytes;
}

int halo_neighbours(const halo *h)
{
    int links = 0;
    for (int i = 0; i < h->count; i++) links += links_of(h, i);
    return links;
}

bool halo_needs_host(const halo *h)
{
    bool needs = false;
    for (int i = 0; i < h->count; i++)
        needs = needs || (links_of(h, i) > 0 && transport_traits_of(h->transport[i]->on.kind)->needs_host);
    return needs;
}

const char *halo_refused(const halo *h) { return h->refused.text; }
