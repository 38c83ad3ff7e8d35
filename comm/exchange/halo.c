/* The plan of a halo exchange: which own cells go to which neighbour and which ghosts they fill; transports
 * do the rest.
 *
 * For the neighbour at (dx, dy): send the own cells within depth of that side (the whole extent along an axis
 * with d = 0), receive the ghosts on that side. The neighbour cuts the same shape, because a process grid is
 * a tensor product: neighbours across x have the same rows, across y the same columns. Corners are messages
 * of their own, so that one round brings everything.
 *
 * Fault hook, builds with WEFT_DEBUG only, for tests that must see a verifier fail: with the environment's
 * WEFT_FAULT = halo_row rank 0 drops a face of every exchange from the third on; with halo_corner it fills a
 * corner from another message's cells. Not of the third alone: the calibration before a run uses the same
 * halo. (Over peer a corner has no other message's cells.) */
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
    MPI_Comm made_for; /* not owned */
    MPI_Comm comm; /* a duplicate: no tag of the caller or of another halo can meet ours */
    transport *transport[TRANSPORT_KINDS]; /* in the order of the enum, each with its part of the links */
    transport_kind kind[TRANSPORT_KINDS];
    int transports;
    int rank;
    int64_t exchanges;
    sentence refused;
    size_t reason_at; /* where in it the reason begins */
};

_Static_assert(TRANSPORT_STAGED < TRANSPORT_PEER && TRANSPORT_AWARE < TRANSPORT_PEER &&
                   TRANSPORT_MAPPED < TRANSPORT_PEER && TRANSPORT_PEER < TRANSPORT_COPY &&
                   TRANSPORT_PEER < TRANSPORT_NCCL,
               "sends that wait for the host come first");

/* The cells of an axis of n cells next to its side d (-1 low, 1 high, 0 all of it): own cells, or the ghosts
 * beyond. */
static void span(int64_t n, int depth, int d, bool ghosts, int64_t *from, int64_t *to)
{
    if (d == 0)
        *from = 0;
    else if (d < 0)
        *from = ghosts ? -depth : 0;
    else
        *from = ghosts ? n : n - depth;
    *to = *from + (d == 0 ? n : depth);
}

static box box_beside(const field_shape *f, int depth, int direction, bool ghosts)
{
    box b;
    span(f->nx, depth, decomp_dx[direction], ghosts, &b.x0, &b.x1);
    span(f->ny, depth, decomp_dy[direction], ghosts, &b.y0, &b.y1);
    return b;
}

box halo_ghosts(const field_shape *f, int depth, int direction)
{
    return box_beside(f, depth, direction, true);
}

size_t halo_field_bytes(device_kind of, const field_shape *f)
{
    return of == DEVICE_CUDA ? (size_t)message_block_bytes((int64_t)f->bytes) : f->bytes;
}

static bool drops_row(void) { return fault_asked("halo_row") >= 0; }
static bool drops_corner(void) { return fault_asked("halo_corner") >= 0; }

/* Rows of ghosts are not contiguous: side ghosts and padding lie between them. Where only rows are cut no
 * message brings those, and the boundary fill writes them afterwards. A fault is put into what is unpacked.
 */
static transport_link make_link(const decomp *dec, const field_shape *f, int depth, int direction)
{
    const box send = box_beside(f, depth, direction, false);
    return (transport_link){ .rank = dec->neighbour[direction],
                             .direction = direction,
                             .send = send,
                             .receive = halo_ghosts(f, depth, direction),
                             .contiguous = (box_height(send) <= 1 || dec->ranks_x == 1) && !drops_row() &&
                                           !drops_corner() };
}

enum { FAULT_EXCHANGE = 2 };

static bool is_corner(int direction) { return decomp_dx[direction] != 0 && decomp_dy[direction] != 0; }

/* The first of the first transport's links that is, or is not, a corner; -1 if there is none. */
static int find_link(const halo *h, bool corner)
{
    const transport_links *on = &h->transport[0]->on;
    for (int i = 0; i < on->count; i++)
        if (is_corner(on->link[i].direction) == corner) return i;
    return -1;
}

/* Falsifies the unpack list of the first transport, where links and pieces agree, for good. */
static void break_halo(halo *h)
{
    if ((!drops_row() && !drops_corner()) || h->rank != 0 || h->exchanges != FAULT_EXCHANGE ||
        h->transports == 0)
        return;
    const int face = find_link(h, false), corner = find_link(h, true);
    pack_piece *unpack = h->transport[0]->unpack;
    if (drops_row() && face >= 0) unpack[face].cells = box_make(0, 0, 0, 0);
    if (drops_corner() && corner >= 0 && face >= 0) unpack[corner].offset = unpack[face].offset;
}

/* The links over t alone. */
static void add_links(transport_links *on, const decomp *dec, int depth, bool corners,
                      const transport_choice *choice, transport_kind t)
{
    for (int k = 0; k < DECOMP_NEIGHBOURS && depth > 0; k++) {
        if (dec->neighbour[k] < 0 || (is_corner(k) && !corners) || choice->toward[k] != t) continue;
        /* an operator along x: no ghosts above and below */
        if (decomp_dy[k] != 0 && on->shape.depth_y == 0) continue;
        on->link[on->count++] = make_link(dec, &on->shape, depth, k);
    }
}

/* False, with the reason kept, if it cannot be had. */
static bool add_transport(halo *h, transport_kind t, const transport_links *on)
{
    sentence why = { "" };
    transport *made = transport_traits_of(t)->create(t, on, &why);
    if (!made) {
        sentence_set(&h->refused, "%s: ", transport_kind_name(t));
        h->reason_at = strlen(h->refused.text);
        sentence_add(&h->refused, "%s", why.text);
        return false;
    }
    h->kind[h->transports] = t;
    h->transport[h->transports++] = made;
    return true;
}

static void drop_transports(halo *h)
{
    for (int i = 0; i < h->transports; i++) h->transport[i]->destroy(&h->transport[i]);
    h->transports = 0;
}

/* All transports that any rank wants; false after the first that cannot be had, replaced in the choice by
 * staged. */
static bool make_transports(halo *h, const decomp *dec, device *d, const field_shape *shape, int depth,
                            bool corners, transport_choice *choice)
{
    for (transport_kind t = 0; t < TRANSPORT_KINDS; t++) {
        transport_links on = { .d = d, .shape = *shape };
        int most = 0;
        on.comm = t == TRANSPORT_NCCL ? h->made_for : h->comm;
        add_links(&on, dec, depth, corners, choice, t);
        MPI_CHECK(ranks_allreduce(&on.count, &most, 1, MPI_INT, MPI_MAX, h->comm));
        if (most == 0 || add_transport(h, t, &on)) continue;
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
    h->made_for = comm;
    MPI_CHECK(ranks_dup(comm, &h->comm));
    h->rank = dec->rank;
    while (!make_transports(h, dec, d, shape, depth, corners, &left)) continue;
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

void halo_know(halo *h, void *field)
{
    for (int i = 0; i < h->transports; i++)
        /* also where it has no links: it is collective */
        if (h->transport[i]->know) h->transport[i]->know(h->transport[i], field);
}

/* The i-th transport, if it has links and is one of `over`; else NULL. */
static transport *driven(const halo *h, int i, unsigned over)
{
    return h->transport[i]->on.count > 0 && (over >> h->kind[i] & 1) ? h->transport[i] : NULL;
}

void halo_begin(halo *h, unsigned over, void *field, device_stream *s)
{
    transport *t;
    break_halo(h);
    halo_know(h, field);
    for (int i = 0; i < h->transports; i++)
        if ((t = driven(h, i, over))) t->begin(t, field, s);
}

void halo_progress(halo *h, unsigned over)
{
    transport *t;
    for (int i = 0; i < h->transports; i++)
        if ((t = driven(h, i, over)) && t->progress) t->progress(t);
}

/* Records the event of the last transport, which unpacks last. */
bool halo_end(halo *h, unsigned over, device_event *arrived)
{
    transport *t, *last = NULL;
    for (int i = 0; i < h->transports; i++)
        if ((t = driven(h, i, over))) last = t;
    if (last) last->arrived = arrived;
    for (int i = 0; i < h->transports; i++)
        if ((t = driven(h, i, over)) && t->end) t->end(t);
    h->exchanges++;
    const bool parted = last && arrived && !last->arrived;
    if (last) last->arrived = NULL;
    return parted;
}

void halo_exchange(halo *h, void *field, device_stream *s)
{
    halo_begin(h, HALO_OVER_ALL, field, s);
    (void)halo_end(h, HALO_OVER_ALL, NULL);
}

transport_kind halo_toward(const halo *h, int direction)
{
    for (int t = 0; t < h->transports; t++) {
        const transport_links *on = &h->transport[t]->on;
        for (int i = 0; i < on->count; i++)
            if (on->link[i].direction == direction) return h->kind[t];
    }
    return TRANSPORT_KINDS;
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

int64_t halo_mpi_bytes(const halo *h)
{
    int64_t bytes = 0;
    for (int t = 0; t < h->transports; t++) bytes += h->transport[t]->mpi_bytes;
    return bytes;
}

int halo_neighbours(const halo *h)
{
    int links = 0;
    for (int t = 0; t < h->transports; t++) links += h->transport[t]->on.count;
    return links;
}

const char *halo_note(const halo *h)
{
    for (int i = 0; i < h->transports; i++)
        if (h->transport[i]->note) return h->transport[i]->note;
    return "";
}

const char *halo_refused(const halo *h) { return h->refused.text; }

const char *halo_refused_reason(const halo *h) { return h->refused.text + h->reason_at; }
