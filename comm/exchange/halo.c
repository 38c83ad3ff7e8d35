/* The plan of a halo exchange: which own cells go to which neighbour and which ghosts they fill; transports
 * do the rest.
 *
 * For the neighbour at (dx, dy): send the own cells within depth of that side (the whole extent along an axis
 * with d = 0), receive the ghosts on that side. The neighbour cuts the same shape, because a process grid is
 * a tensor product: neighbours across x have the same rows, across y the same columns. Corners are messages
 * of their own, so that one round brings everything.
 *
 * Fault hook, builds with WEFT_DEBUG only, for tests that must see a verifier fail: with the environment's
 * WEFT_FAULT = halo_row rank 0 drops a face of every exchange from the third on, with halo_corner a corner.
 * Not of the third alone: the calibration before a run uses the same halo. */
#include "exchange/halo.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/check.h"
#include "ranks/fault.h"
#include "ranks/ranks.h"
#include "transports/message.h"
#include "transports/transport.h"

struct halo {
    MPI_Comm comm; /* a duplicate: no tag of the caller or of another halo can meet ours */
    transport *transport[TRANSPORT_KINDS]; /* in the order of the enum, each with its part of the links */
    int transports;
    int rank;
    int64_t exchanges;
    sentence refused;
};

_Static_assert(TRANSPORT_STAGED < TRANSPORT_PEER && TRANSPORT_AWARE < TRANSPORT_PEER &&
                   TRANSPORT_MAPPED < TRANSPORT_PEER && TRANSPORT_PEER < TRANSPORT_NCCL,
               "sends that wait for the host come first");

box halo_ghosts(const field_shape *f, int depth, int direction)
{
    const int dx = decomp_dx[direction], dy = decomp_dy[direction];
    return box_make(dx < 0   ? -depth
                    : dx > 0 ? f->nx
                             : 0,
                    dx < 0   ? 0
                    : dx > 0 ? f->nx + depth
                             : f->nx,
                    dy < 0   ? -depth
                    : dy > 0 ? f->ny
                             : 0,
                    dy < 0   ? 0
                    : dy > 0 ? f->ny + depth
                             : f->ny);
}

size_t halo_field_bytes(device_kind of, const field_shape *f)
{
    return of == DEVICE_CUDA ? (size_t)message_block_bytes((int64_t)f->bytes) : f->bytes;
}

static bool is_corner(int direction) { return decomp_dx[direction] != 0 && decomp_dy[direction] != 0; }

/* Does a fault drop faces, or corners? */
static bool drops(bool corner) { return fault_asked(corner ? "halo_corner" : "halo_row") >= 0; }

/* Rows of ghosts are not contiguous: side ghosts and padding lie between them. Where only rows are cut no
 * message brings those, and the boundary fill writes them afterwards. A fault is put into what is unpacked.
 */
static transport_link make_link(const decomp *dec, const field_shape *f, int depth, int direction)
{
    const box ghosts = halo_ghosts(f, depth, direction);
    const box send = box_shift(ghosts, -depth * decomp_dx[direction], -depth * decomp_dy[direction]);
    return (transport_link){ .rank = dec->neighbour[direction],
                             .direction = direction,
                             .send = send,
                             .receive = ghosts,
                             .contiguous = (box_height(send) <= 1 || dec->ranks_x == 1) && !drops(true) &&
                                           !drops(false) };
}

enum { FAULT_EXCHANGE = 2 };

/* Falsifies the unpack list of the first transport, where links and pieces agree, for good. */
static void break_halo(halo *h)
{
    if (h->rank != 0 || h->exchanges != FAULT_EXCHANGE || h->transports == 0) return;
    transport *t = h->transport[0];
    for (int i = 0; i < t->on.count; i++) {
        if (!drops(is_corner(t->on.link[i].direction))) continue;
        t->unpack[i].cells = box_make(0, 0, 0, 0);
        return;
    }
}

/* Those over its kind alone. */
static void add_links(transport_links *on, const decomp *dec, int depth, bool corners,
                      const transport_choice *choice)
{
    for (int k = 0; k < DECOMP_NEIGHBOURS && depth > 0; k++) {
        if (dec->neighbour[k] < 0 || (is_corner(k) && !corners) || choice->toward[k] != on->kind) continue;
        /* an operator along x: no ghosts above and below */
        if (decomp_dy[k] != 0 && on->shape.depth_y == 0) continue;
        on->link[on->count++] = make_link(dec, &on->shape, depth, k);
    }
}

/* False, with the reason kept, if it cannot be had. */
static bool add_transport(halo *h, const transport_links *on)
{
    sentence why = { "" };
    transport *made = transport_traits_of(on->kind)->create(on, &why);
    if (made) {
        h->transport[h->transports++] = made;
        return true;
    }
    sentence_set(&h->refused, "%s: %s", transport_kind_name(on->kind), why.text);
    return false;
}

static void drop_transports(halo *h)
{
    for (int i = 0; i < h->transports; i++) h->transport[i]->destroy(&h->transport[i]);
    h->transports = 0;
}

/* All transports that any rank wants, in communicator `caller`; false after the first that cannot be had,
 * replaced in the choice by staged. */
static bool make_transports(halo *h, const decomp *dec, device *d, const field_shape *shape, int depth,
                            bool corners, transport_choice *choice, MPI_Comm caller)
{
    for (transport_kind t = 0; t < TRANSPORT_KINDS; t++) {
        transport_links on = { .kind = t, .d = d, .shape = *shape };
        on.comm = t == TRANSPORT_NCCL ? caller : h->comm;
        add_links(&on, dec, depth, corners, choice);
        int most = on.count;
        MPI_CHECK(ranks_allreduce(&most, 1, MPI_INT, MPI_MAX, h->comm));
        if (most == 0 || add_transport(h, &on)) continue;
        drop_transports(h);
        for (int k = 0; k < DECOMP_NEIGHBOURS; k++)
            if (choice->toward[k] == t) choice->toward[k] = TRANSPORT_STAGED;
        return false;
    }
    return true;
}

halo *halo_create(const decomp *dec, device *d, const field_shape *shape, int depth, bool corners,
                  const transport_choice *choice, MPI_Comm comm)
{
    assert(depth >= 0 && (dec->ranks_x == 1 || depth <= shape->depth_x) &&
           (shape->depth_y == 0 || depth <= shape->depth_y));
    assert(shape->nx == box_width(dec->own) && shape->ny == box_height(dec->own));
    halo *h = CHECK_CALLOC(1, sizeof *h);
    transport_choice left = *choice;
    MPI_CHECK(ranks_dup(comm, &h->comm));
    h->rank = dec->rank;
    while (!make_transports(h, dec, d, shape, depth, corners, &left, comm)) continue;
    return h;
}

void halo_destroy(halo **h)
{
    if (!h || !*h) return;
    drop_transports(*h);
    MPI_CHECK(ranks_free(&(*h)->comm));
    free(*h);
    *h = NULL;
}

/* The i-th transport, if it has links; else NULL. */
static transport *driven(const halo *h, int i)
{
    return h->transport[i]->on.count > 0 ? h->transport[i] : NULL;
}

void halo_begin(halo *h, void *field, device_stream *s)
{
    transport *t;
    break_halo(h);
    for (int i = 0; i < h->transports; i++)
        if ((t = driven(h, i))) t->begin(t, field, s);
}

void halo_progress(halo *h)
{
    transport *t;
    for (int i = 0; i < h->transports; i++)
        if ((t = driven(h, i)) && t->progress) t->progress(t);
}

void halo_end(halo *h)
{
    transport *t;
    for (int i = 0; i < h->transports; i++)
        if ((t = driven(h, i)) && t->end) t->end(t);
    h->exchanges++;
}

void halo_exchange(halo *h, void *field, device_stream *s)
{
    halo_begin(h, field, s);
    halo_end(h);
}

int64_t halo_sent_bytes(const halo *h)
{
    int64_t bytes = 0;
    for (int t = 0; t < h->transports; t++) {
        const transport_links *on = &h->transport[t]->on;
        for (int i = 0; i < on->count; i++) bytes += transport_cells_bytes(&on->shape, on->link[i].send);
    }
    return bytes;
}

int halo_neighbours(const halo *h)
{
    int links = 0;
    for (int t = 0; t < h->transports; t++) links += h->transport[t]->on.count;
    return links;
}

const char *halo_refused(const halo *h) { return h->refused.text; }
