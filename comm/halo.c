/* The plan of a halo exchange: which own cells go to which neighbour and which ghosts they fill; transports do the rest.
 *
 * For the neighbour at (dx, dy): send the own cells within depth of that side (the whole extent along an axis with
 * d = 0), receive the ghosts on that side. The neighbour cuts the same shape, because a process grid is a tensor
 * product: neighbours across x have the same rows, across y the same columns. Corners are messages of their own, so
 * that one round brings everything.
 *
 * Fault hook, builds with WEFT_DEBUG only, for tests that must see a verifier fail: with the environment's WEFT_FAULT = halo_row
 * rank 0 drops a face of every exchange from the third on; with halo_corner it fills a corner from another message's cells.
 * Not of the third alone: the calibration before a run uses the same halo. */
#include "halo.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "transport.h"

struct halo {
    MPI_Comm comm; /* a duplicate: no tag of the caller or of another halo can meet ours */
    transport_link link[DECOMP_NEIGHBOURS];
    int links;
    int64_t sent_bytes;
    transport *transport[HALO_TRANSPORTS]; /* their links together are the links above, in order */
    int transports;
    int rank;
    int64_t exchanges;
};

const char *halo_transport_name(halo_transport t)
{
    switch (t) {
    case HALO_STAGED: return "staged";
    case HALO_AWARE: return "aware";
    case HALO_TRANSPORTS: break;
    }
    return "none";
}

/* The cells of an axis of n cells next to its side d (-1 low, 1 high, 0 all of it): own cells, or the ghosts beyond. */
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

static transport_link make_link(const decomp *dec, const field_shape *f, int depth, int direction)
{
    const int dx = decomp_dx[direction], dy = decomp_dy[direction];
    transport_link l = { .rank = dec->neighbour[direction], .direction = direction };
    span(f->nx, depth, dx, false, &l.send.x0, &l.send.x1);
    span(f->ny, depth, dy, false, &l.send.y0, &l.send.y1);
    span(f->nx, depth, dx, true, &l.receive.x0, &l.receive.x1);
    span(f->ny, depth, dy, true, &l.receive.y0, &l.receive.y1);
    return l;
}

#ifdef WEFT_DEBUG
enum { FAULT_EXCHANGE = 2 };

static bool is_corner(const transport_link *l) { return decomp_dx[l->direction] != 0 && decomp_dy[l->direction] != 0; }

/* The first link that is, or is not, a corner; -1 if there is none. */
static int find_link(const halo *h, bool corner)
{
    for (int i = 0; i < h->links; i++)
        if (is_corner(&h->link[i]) == corner) return i;
    return -1;
}

/* Ends the transport with its unpack list falsified. With one transport, links and pieces agree. */
static void end_transport(halo *h, transport *t)
{
    const char *fault = getenv("WEFT_FAULT");
    pack_piece sound[PACK_PIECES_MAX];
    memcpy(sound, t->unpack, sizeof sound);
    if (fault && h->rank == 0 && h->exchanges >= FAULT_EXCHANGE && t == h->transport[0]) {
        const int face = find_link(h, false), corner = find_link(h, true);
        if (strcmp(fault, "halo_row") == 0 && face >= 0) t->unpack[face].cells = box_make(0, 0, 0, 0);
        if (strcmp(fault, "halo_corner") == 0 && corner >= 0 && face >= 0) t->unpack[corner].offset = sound[face].offset;
    }
    t->end(t);
    memcpy(t->unpack, sound, sizeof sound);
}
#else
static void end_transport(halo *h, transport *t)
{
    (void)h;
    t->end(t);
}
#endif

halo *halo_create(const decomp *dec, device *d, const field_shape *shape, int depth, bool corners, halo_transport t,
                  MPI_Comm comm)
{
    assert(depth >= 0 && depth <= shape->depth_x && (shape->depth_y == 0 || depth <= shape->depth_y));
    assert(shape->nx == box_width(dec->own) && shape->ny == box_height(dec->own));
    halo *h = calloc(1, sizeof *h);
    if (!h) check_fail(__FILE__, __LINE__, "calloc", "out of memory");
    MPI_CHECK(MPI_Comm_dup(comm, &h->comm));
    MPI_CHECK(MPI_Comm_set_errhandler(h->comm, MPI_ERRORS_RETURN));
    h->rank = dec->rank;
    for (int k = 0; k < DECOMP_NEIGHBOURS && depth > 0; k++) {
        const bool corner = decomp_dx[k] != 0 && decomp_dy[k] != 0;
        if (dec->neighbour[k] < 0 || (corner && !corners)) continue;
        if (decomp_dy[k] != 0 && shape->depth_y == 0) continue; /* an operator along x: no ghosts above and below */
        h->link[h->links] = make_link(dec, shape, depth, k);
        h->sent_bytes += box_cells(h->link[h->links].send) * (int64_t)dtype_bytes(shape->type);
        h->links++;
    }
    if (h->links > 0) h->transport[h->transports++] = transport_message_create(d, shape, h->link, h->links, t, h->comm);
    return h;
}

void halo_destroy(halo **h)
{
    if (!h || !*h) return;
    for (int i = 0; i < (*h)->transports; i++) (*h)->transport[i]->destroy(&(*h)->transport[i]);
    MPI_CHECK(MPI_Comm_free(&(*h)->comm));
    free(*h);
    *h = NULL;
}

void halo_begin(halo *h, void *field, device_stream *s)
{
    for (int i = 0; i < h->transports; i++) h->transport[i]->begin(h->transport[i], field, s);
}

void halo_progress(halo *h)
{
    for (int i = 0; i < h->transports; i++) h->transport[i]->progress(h->transport[i]);
}

void halo_end(halo *h)
{
    for (int i = 0; i < h->transports; i++) end_transport(h, h->transport[i]);
    h->exchanges++;
}

int64_t halo_sent_bytes(const halo *h) { return h->sent_bytes; }

int halo_neighbours(const halo *h) { return h->links; }
