#include "state/collect.h"

#include <assert.h>
#include <stdlib.h>

#include "ranks/check.h"
#include "ranks/decomp.h"
#include "state/state_index.h"

size_t collect_window_bytes = (size_t)32 << 20;

enum { SLOTS = 2 };

typedef struct sending { /* to one writer: one message at a time */
    MPI_Request request;
    int field;
    int64_t next;
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
    int field; /* of the next window to receive */
    int64_t next;
    bool received; /* all windows are posted */
};

box collect_box(const state_cells *f, int ranks, int rank)
{
    const decomp d = { .nx = f->nx, .ny = f->ny, .ranks_x = f->columns, .ranks_y = ranks / f->columns };
    return decomp_box(&d, rank);
}

int collect_rank(int writers, int ranks, int k) { return (int)((int64_t)k * ranks / writers); }

static box window_of(const collect *c, int k, int i, int64_t n)
{
    return state_piece(c->s->part[k].cells[i], c->s->type, collect_window_bytes, n);
}

/* ---- sending ---- */

static void send(collect *c, int k, int i, box cells)
{
    const state_cells *f = &c->l->field[i];
    const int64_t word = (int64_t)dtype_bytes(c->s->type),
                  at = (cells.y0 - f->own.y0) * box_width(f->own) + cells.x0 - f->own.x0;
    assert(box_height(cells) == 1 || box_width(cells) == box_width(f->own));
    MPI_CHECK(MPI_Issend((const char *)f->data + at * word, (int)(box_cells(cells) * word), MPI_BYTE,
                         collect_rank(c->s->parts, c->ranks, k), i, c->comm, &c->to[k].request));
}

/* The next message to writer k, once the one before has arrived. */
static void send_next(collect *c, int k)
{
    sending *to = &c->to[k];
    int arrived = 1;
    if (to->done) return;
    MPI_CHECK(MPI_Test(&to->request, &arrived, MPI_STATUS_IGNORE));
    if (!arrived) return;
    for (; to->field < c->s->fields; to->field++, to->next = 0) {
        const box own = c->l->field[to->field].own;
        if (box_empty(box_intersect(own, c->s->part[k].cells[to->field]))) continue;
        for (box window; !box_empty(window = window_of(c, k, to->field, to->next));) {
            const box mine = box_intersect(window, own);
            to->next++;
            if (box_empty(mine)) continue;
            send(c, k, to->field, mine);
            return;
        }
    }
    to->done = true;
}

/* ---- receiving ---- */

static void receive(collect *c, slot *t, box window, box piece, int from)
{
    const int word = (int)dtype_bytes(c->s->type);
    const int whole[2] = { (int)box_height(window), (int)box_width(window) * word };
    const int part[2] = { (int)box_height(piece), (int)box_width(piece) * word };
    const int at[2] = { (int)(piece.y0 - window.y0), (int)(piece.x0 - window.x0) * word };
    MPI_Datatype type;
    MPI_CHECK(MPI_Type_create_subarray(2, whole, part, at, MPI_ORDER_C, MPI_BYTE, &type));
    MPI_CHECK(MPI_Type_commit(&type));
    MPI_CHECK(MPI_Irecv(t->buffer, 1, type, from, c->field, c->comm, &t->request[t->count++]));
    MPI_CHECK(MPI_Type_free(&type));
}

/* The next window of this writer's part, field after field. */
static void receive_next(collect *c, slot *t)
{
    for (; c->field < c->s->fields; c->field++, c->next = 0) {
        const box window = window_of(c, c->number, c->field, c->next);
        if (box_empty(window)) continue;
        c->next++;
        t->count = 0;
        t->window = (collect_window){ c->field, t->buffer, box_cells(window) };
        for (int r = 0; r < c->ranks; r++) {
            const box piece = box_intersect(window, collect_box(&c->l->field[c->field], c->ranks, r));
            if (!box_empty(piece)) receive(c, t, window, piece, r);
        }
        return;
    }
    c->received = true;
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

/* ---- begin and end ---- */

static bool make_slots(collect *c)
{
    for (int i = 0; i < SLOTS; i++) {
        c->slot[i].buffer = malloc(collect_window_bytes + sizeof(double)); /* or of one cell */
        c->slot[i].request = malloc((size_t)c->ranks * sizeof *c->slot[i].request);
        if (!c->slot[i].buffer || !c->slot[i].request) return false;
    }
    return true;
}

collect *collect_begin(MPI_Comm comm, const state_info *s, const state_level *l, int number)
{
    collect *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    *c = (collect){
        .comm = comm, .s = s, .l = l, .number = number, .slot = { { .count = -1 }, { .count = -1 } }
    };
    MPI_CHECK(MPI_Comm_size(comm, &c->ranks));
    c->to = calloc((size_t)s->parts, sizeof *c->to);
    for (int k = 0; c->to && k < s->parts; k++) c->to[k].request = MPI_REQUEST_NULL;
    if (!c->to || (number >= 0 && !make_slots(c))) collect_end(&c);
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
