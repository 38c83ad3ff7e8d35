#include "state/collect.h"

#include <assert.h>
#include <stdlib.h>

#include "ranks/check.h"
#include "ranks/decomp.h"
#include "ranks/ranks.h"
#include "state/state_index.h"

size_t collect_window_bytes = (size_t)32 << 20;

enum { SLOTS = 2 };

typedef struct cursor { /* of the windows of a part, field after field */
    int field;
    int64_t next;
} cursor;

typedef struct sending { /* to one writer: one message at a time */
    MPI_Request request;
    cursor at;
    bool done;
} sending;

typedef struct slot {
    char *buffer;
    MPI_Request *request; /* [ranks] */
    int count;            /* of requests; -1: the slot is free */
    collect_window window;
} slot;

struct collect {
    MPI_Comm comm;
    const state_info *s;
    const state_level *l;
    int ranks, number; /* of this writer; -1: it is none */
    sending *to;       /* [parts] */
    slot slot[SLOTS];
    int oldest;
    cursor at;     /* the next window to receive */
    bool received; /* all windows are posted */
};

box collect_box(const state_cells *f, int ranks, int rank)
{
    const decomp d = { .nx = f->nx, .ny = f->ny, .ranks_x = f->columns, .ranks_y = ranks / f->columns };
    return decomp_box(&d, rank);
}

int collect_rank(int writers, int ranks, int k) { return (int)((int64_t)k * ranks / writers); }

/* The next window of part k, of field at->field; empty: there are no more. */
static box next_window(const collect *c, int k, cursor *at)
{
    for (; at->field < c->s->fields; at->field++, at->next = 0) {
        const box cells = c->s->part[k].of[at->field].cells;
        const box window = state_piece(cells, c->s->type, collect_window_bytes, at->next++);
        if (!box_empty(window)) return window;
    }
    return box_make(0, 0, 0, 0);
}

/* The next message to writer k, once the one before has arrived. */
static void send_next(collect *c, int k)
{
    sending *to = &c->to[k];
    const int64_t word = (int64_t)dtype_bytes(c->s->type);
    int arrived = 1;
    if (to->done) return;
    MPI_CHECK(MPI_Test(&to->request, &arrived, MPI_STATUS_IGNORE));
    if (!arrived) return;
    for (box window; !box_empty(window = next_window(c, k, &to->at));) {
        const state_cells *f = &c->l->field[to->at.field];
        const box mine = box_intersect(window, f->own);
        if (box_empty(mine)) continue;
        assert(box_height(mine) == 1 || box_width(mine) == box_width(f->own));
        const int64_t at = (mine.y0 - f->own.y0) * box_width(f->own) + mine.x0 - f->own.x0;
        MPI_CHECK(MPI_Issend((const char *)f->data + at * word, (int)(box_cells(mine) * word), MPI_BYTE,
                             collect_rank(c->s->parts, c->ranks, k), to->at.field, c->comm, &to->request));
        return;
    }
    to->done = true;
}

static void receive(collect *c, slot *t, box window, box piece, int from)
{
    const int word = (int)dtype_bytes(c->s->type);
    const int whole[2] = { (int)box_height(window), (int)box_width(window) * word };
    const int part[2] = { (int)box_height(piece), (int)box_width(piece) * word };
    const int at[2] = { (int)(piece.y0 - window.y0), (int)(piece.x0 - window.x0) * word };
    MPI_Datatype type;
    MPI_CHECK(MPI_Type_create_subarray(2, whole, part, at, MPI_ORDER_C, MPI_BYTE, &type));
    MPI_CHECK(MPI_Type_commit(&type));
    MPI_CHECK(MPI_Irecv(t->buffer, 1, type, from, c->at.field, c->comm, &t->request[t->count++]));
    MPI_CHECK(MPI_Type_free(&type));
}

static void receive_next(collect *c, slot *t)
{
    const box window = next_window(c, c->number, &c->at);
    c->received = box_empty(window);
    if (c->received) return;
    t->count = 0;
    t->window = (collect_window){ c->at.field, t->buffer, box_cells(window) };
    for (int r = 0; r < c->ranks; r++) {
        const box piece = box_intersect(window, collect_box(&c->l->field[c->at.field], c->ranks, r));
        if (!box_empty(piece)) receive(c, t, window, piece, r);
    }
}

const collect_window *collect_next(collect *c)
{
    for (int k = 0; k < c->s->parts; k++) send_next(c, k);
    if (c->number < 0) return NULL;
    for (int i = 0; i < SLOTS && !c->received; i++) {
        slot *t = &c->slot[(c->oldest + i) % SLOTS];
        if (t->count < 0) receive_next(c, t);
    }
    slot *t = &c->slot[c->oldest];
    int complete = 0;
    if (t->count < 0) return NULL;
    MPI_CHECK(MPI_Testall(t->count, t->request, &complete, MPI_STATUSES_IGNORE));
    return complete ? &t->window : NULL;
}

void collect_release(collect *c)
{
    c->slot[c->oldest].count = -1;
    c->oldest = (c->oldest + 1) % SLOTS;
}

bool collect_done(const collect *c)
{
    for (int k = 0; k < c->s->parts; k++)
        if (!c->to[k].done) return false;
    return c->number < 0 || (c->received && c->slot[0].count < 0 && c->slot[1].count < 0);
}

collect *collect_begin(MPI_Comm comm, const state_info *s, const state_level *l, int number)
{
    collect *c = CHECK_ALLOC(calloc(1, sizeof *c));
    *c = (collect){ .comm = comm, .s = s, .l = l, .ranks = ranks_count(comm), .number = number };
    c->to = CHECK_ALLOC(calloc((size_t)s->parts, sizeof *c->to));
    for (int k = 0; k < s->parts; k++) c->to[k].request = MPI_REQUEST_NULL;
    for (int i = 0; i < SLOTS && number >= 0; i++) {
        slot *t = &c->slot[i];
        t->count = -1;
        t->buffer = CHECK_ALLOC(malloc(collect_window_bytes + sizeof(double))); /* or of one cell */
        t->request = CHECK_ALLOC(malloc((size_t)c->ranks * sizeof *t->request));
    }
    return c;
}

void collect_end(collect **c)
{
    if (!*c) return;
    for (int i = 0; i < SLOTS; i++) {
        free((*c)->slot[i].buffer);
        free((*c)->slot[i].request);
    }
    free((*c)->to);
    free(*c);
    *c = NULL;
}
