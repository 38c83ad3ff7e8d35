/* The transport copy: same host (CUDA IPC), no messages, as peer; but copy engines write the boundary rows
 * into the neighbours' ghosts, which this process has mapped, and no kernel touches a cell. For large faces:
 * from kernel to copy engine and back takes 14 us.
 *
 * An exchange is a meeting with the neighbours on the device (all ghosts are free), the copies, and a
 * second meeting (all have arrived). Meetings count on the device and the copies are the same each time a
 * field comes, so that all of it may be captured in a graph, once the field is known.
 *
 * Only for boxes that are one piece of memory at both ends: where rows alone are cut. A field is mapped by
 * its neighbours when it is first seen, which is host work, and stays so until the end. Invariant: links are
 * mutual, and all ranks bring their counterparts of the same fields in the same order. Disadvantage: fields
 * must not be freed before the transport. */
#include <assert.h>
#include <stdlib.h>

#include "ranks/check.h"
#include "ranks/ranks.h"
#include "transports/message.h"
#include "transports/peer.h"
#include "transports/transport.h"

/* Flags lie in a shared block, laid out alike everywhere: a line for each direction that a neighbour raises,
 * and the count's. */
enum { SHARED_BLOCK_BYTES = (DECOMP_NEIGHBOURS + 1) * FIELD_ALIGN_BYTES };

typedef struct known_field {
    void *mine, *theirs[PACK_PIECES_MAX]; /* [i]: link i's */
} known_field;

typedef struct transport_copy {
    transport base;
    int64_t ghosts_at[PACK_PIECES_MAX]; /* bytes from the start of link i's field to the ghosts that this
                                         * rank fills */
    peer *reach;
    device_meeting meeting;
    known_field *known;
    int knowns;
} transport_copy;

static const known_field *find(const transport_copy *c, const void *field)
{
    for (int i = 0; i < c->knowns; i++)
        if (c->known[i].mine == field) return &c->known[i];
    return NULL;
}

static void copy_know(transport *t, void *field)
{
    transport_copy *c = (transport_copy *)t;
    if (find(c, field)) return;
    c->known = CHECK_ALLOC(realloc(c->known, (size_t)(c->knowns + 1) * sizeof *c->known));
    known_field *new = &c->known[c->knowns++];
    *new = (known_field){ .mine = field };
    peer_share(c->reach, field, new->theirs);
}

static void copy_begin(transport *t, void *field, device_stream *s)
{
    const transport_copy *c = (const transport_copy *)t;
    const transport_links *on = &t->on;
    device *d = on->d;
    const known_field *k = find(c, field);
    DEVICE_CALL(d, ranks_meet, &c->meeting, s);
    for (int i = 0; i < on->count; i++) {
        const box send = on->link[i].send;
        DEVICE_CALL(d, copy, (char *)k->theirs[i] + c->ghosts_at[i],
                    field_at(&on->shape, field, send.x0, send.y0),
                    (size_t)transport_span_bytes(&on->shape, send), s);
    }
    DEVICE_CALL(d, ranks_meet, &c->meeting, s);
}

static void copy_destroy(transport **t)
{
    transport_copy *c = (transport_copy *)*t;
    peer_destroy(&c->reach); /* from here on no neighbour writes here */
    free(c->known);
    free(c);
    *t = NULL;
}

static void make_shared_block(transport_copy *c)
{
    const transport_links *on = &c->base.on;
    void *theirs[PACK_PIECES_MAX];
    char *const mine = peer_shared_block(c->reach, SHARED_BLOCK_BYTES, theirs);
    c->meeting.ranks = on->count;
    c->meeting.count = (uint64_t *)(mine + DECOMP_NEIGHBOURS * FIELD_ALIGN_BYTES);
    for (int i = 0; i < on->count; i++) {
        /* the link as the neighbour calls it */
        const int here = on->link[i].direction, there = DECOMP_NEIGHBOURS - 1 - here;
        c->meeting.there[i] = (uint64_t *)((char *)theirs[i] + there * FIELD_ALIGN_BYTES);
        c->meeting.here[i] = (const uint64_t *)(mine + here * FIELD_ALIGN_BYTES);
    }
}

transport *transport_copy_create(const transport_links *on, sentence *why)
{
    int64_t ghosts_at[PACK_PIECES_MAX]; /* own */
    const bool contiguous = transport_all_contiguous(on);
    if (!contiguous) sentence_set(why, "it copies whole rows, but columns are cut here");
    if (!agree_or_say(contiguous, why, on->comm)) return NULL;
    peer *reach = peer_create_for(on, why);
    if (!reach) return NULL;
    transport_copy *c = CHECK_CALLOC(1, sizeof *c);
    c->base = (transport){ .know = copy_know, .begin = copy_begin, .destroy = copy_destroy, .on = *on };
    c->reach = reach;
    for (int i = 0; i < on->count; i++) {
        const box ghosts = on->link[i].receive;
        ghosts_at[i] = field_index(&on->shape, ghosts.x0, ghosts.y0) * (int64_t)dtype_bytes(on->shape.type);
    }
    make_shared_block(c);
    message_swap(on, ghosts_at, c->ghosts_at, sizeof *ghosts_at);
    return &c->base;
}
