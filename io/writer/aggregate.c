#include "writer/aggregate.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/check.h"
#include "ranks/ranks.h"
#include "state/checkpoint_rows.h"

size_t aggregate_window_bytes = (size_t)32 << 20;
int64_t aggregate_short_bytes = 64 << 10;

enum { SLOTS = 2, TAG = 1 };

typedef struct slot { /* a round under way */
    aggregate_window window; /* of this rank's share */
    char *memory;            /* of what comes from other ranks; owned */
    MPI_Request *request;    /* owned: room for as many as there are senders to this rank and writers of
                              * its cells */
    int requests;            /* 0: complete */
} slot;

struct aggregate {
    MPI_Comm comm; /* owned */
    int rank, ranks, number; /* number: of this writer; -1: it is none */
    const writers *plan;
    const checkpoint_layout *layout;
    const checkpoint_state *state;
    int64_t rounds[CHECKPOINT_FIELDS_MAX]; /* of each field: as many as the largest share has windows */
    int64_t posted, ended, all;            /* rounds, of all fields one after another */
    slot slot[SLOTS];                      /* round r is in slot r % SLOTS; posted - ended of them are
                                            * under way */
};

/* ---- arithmetic ---- */

int64_t aggregate_windows(const writers *w, const checkpoint_state *s, const checkpoint_layout *l, int i,
                          int number)
{
    box part[WRITERS_PARTS];
    int64_t windows = 0;
    const int parts = writers_parts(w, s, l, i, number, part);
    for (int k = 0; k < parts; k++)
        windows += checkpoint_bands(part[k], dtype_bytes(s->type), aggregate_window_bytes);
    return windows;
}

box aggregate_window_cells(const writers *w, const checkpoint_state *s, const checkpoint_layout *l, int i,
                           int number, int64_t n)
{
    box part[WRITERS_PARTS];
    const size_t cell_bytes = dtype_bytes(s->type);
    const int parts = writers_parts(w, s, l, i, number, part);
    for (int k = 0; k < parts; k++) {
        const int64_t bands = checkpoint_bands(part[k], cell_bytes, aggregate_window_bytes);
        if (n < bands) return checkpoint_band(part[k], cell_bytes, aggregate_window_bytes, n);
        n -= bands;
    }
    return box_make(0, 0, 0, 0);
}

void aggregate_find_pieces(aggregate_window *w, const checkpoint_field *f, int ranks)
{
    w->pieces = 0;
    for (int r = 0; r < ranks; r++) {
        const box cells = box_intersect(writers_box(f, ranks, r), w->cells);
        if (!box_empty(cells)) w->piece[w->pieces++] = (aggregate_piece){ .rank = r, .cells = cells };
    }
}

static size_t offset_cells(box in, int64_t x, int64_t y)
{
    return (size_t)((y - in.y0) * box_width(in) + x - in.x0);
}

const void *aggregate_rows(const aggregate_window *w, box part, size_t cell_bytes, void *room)
{
    for (int i = 0; i < w->pieces; i++) {
        const box from = w->piece[i].cells, cells = box_intersect(from, part);
        if (box_empty(cells)) continue;
        const char *data = w->piece[i].data + offset_cells(from, cells.x0, cells.y0) * cell_bytes;
        const bool one_run = box_width(from) == box_width(part) || box_height(part) == 1;
        if (one_run && box_cells(cells) == box_cells(part)) return data;
        char *to = (char *)room + offset_cells(part, cells.x0, cells.y0) * cell_bytes;
        for (int64_t y = cells.y0; y < cells.y1; y++) {
            memcpy(to, data, (size_t)box_width(cells) * cell_bytes);
            to += (size_t)box_width(part) * cell_bytes;
            data += (size_t)box_width(from) * cell_bytes;
        }
    }
    return room;
}

/* ---- memory ---- */

aggregate *aggregate_create(MPI_Comm comm)
{
    aggregate *a = CHECK_ALLOC(calloc(1, sizeof *a));
    MPI_CHECK(ranks_dup(comm, &a->comm));
    a->rank = ranks_mine(comm);
    a->ranks = ranks_count(comm);
    return a;
}

static void free_slots(aggregate *a)
{
    for (int i = 0; i < SLOTS; i++) {
        free(a->slot[i].window.piece);
        free(a->slot[i].memory);
        free(a->slot[i].request);
        a->slot[i] = (slot){ .memory = NULL };
    }
}

void aggregate_destroy(aggregate **a)
{
    if (!a || !*a) return;
    free_slots(*a);
    MPI_CHECK(MPI_Comm_free(&(*a)->comm));
    free(*a);
    *a = NULL;
}

static box window_of(const aggregate *a, int field, int number, int64_t round)
{
    return aggregate_window_cells(a->plan, a->state, a->layout, field, number, round);
}

static size_t largest_window_bytes(const aggregate *a)
{
    box part[WRITERS_PARTS];
    size_t bytes = 0;
    const size_t cell_bytes = dtype_bytes(a->state->type);
    for (int i = 0; i < a->state->fields; i++) {
        const int parts = writers_parts(a->plan, a->state, a->layout, i, a->number, part);
        for (int k = 0; k < parts; k++) {
            const size_t first =
                (size_t)box_cells(checkpoint_band(part[k], cell_bytes, aggregate_window_bytes, 0)) *
                cell_bytes;
            if (first > bytes) bytes = first;
        }
    }
    return bytes;
}

/* Has that writer cells of the box to write? */
static bool writes_of(const aggregate *a, int field, int number, box cells)
{
    box part[WRITERS_PARTS];
    const int parts = writers_parts(a->plan, a->state, a->layout, field, number, part);
    for (int k = 0; k < parts; k++)
        if (!box_empty(box_intersect(part[k], cells))) return true;
    return false;
}

/* Of the field that has most of them: the ranks whose cells this one writes, and the writers that take its
 * own. */
static void count_partners(const aggregate *a, size_t *senders, size_t *takers)
{
    *senders = *takers = 0;
    for (int i = 0; i < a->state->fields; i++) {
        const checkpoint_field *f = &a->state->field[i];
        size_t from = 0, to = 0;
        for (int r = 0; r < a->ranks; r++) from += writes_of(a, i, a->number, writers_box(f, a->ranks, r));
        for (int n = 0; n < a->plan->count; n++) to += writes_of(a, i, n, f->own);
        if (from > *senders) *senders = from;
        if (to > *takers) *takers = to;
    }
}

static bool make_slots(aggregate *a)
{
    const size_t bytes = largest_window_bytes(a);
    size_t senders, takers;
    count_partners(a, &senders, &takers);
    for (int i = 0; i < SLOTS; i++) {
        slot *s = &a->slot[i];
        s->request = malloc((senders + takers + 1) * sizeof *s->request); /* one: NULL is failure */
        s->window.piece = malloc((senders + 1) * sizeof *s->window.piece);
        s->memory = malloc(bytes ? bytes : 1);
        if (!s->request || !s->window.piece || !s->memory) return false;
    }
    return true;
}

bool aggregate_begin(aggregate *a, const checkpoint_state *s, const writers *w, const checkpoint_layout *l)
{
    assert(a->posted == a->ended); /* all was done, or nothing was begun: another rank had no memory */
    free_slots(a);
    a->state = s;
    a->plan = w;
    a->layout = l;
    a->number = writers_number(w, a->rank);
    a->posted = a->ended = a->all = 0;
    for (int i = 0; i < s->fields; i++) {
        a->rounds[i] = 0;
        for (int n = 0; n < w->count; n++) {
            const int64_t windows = aggregate_windows(w, s, l, i, n);
            if (windows > a->rounds[i]) a->rounds[i] = windows;
        }
        a->all += a->rounds[i];
    }
    if (make_slots(a)) return true;
    a->all = 0;
    return false;
}

/* ---- messages ---- */

static const char *own_cells(const aggregate *a, int field, box cells)
{
    const checkpoint_field *f = &a->state->field[field];
    return (const char *)f->data + offset_cells(f->own, cells.x0, cells.y0) * dtype_bytes(a->state->type);
}

static int message_bytes(const aggregate *a, box cells)
{
    return (int)((size_t)box_cells(cells) * dtype_bytes(a->state->type));
}

/* Of this rank's own window; its own part stays where it is. */
static void post_receives(aggregate *a, slot *s)
{
    char *to = s->memory;
    aggregate_find_pieces(&s->window, &a->state->field[s->window.field], a->ranks);
    for (int i = 0; i < s->window.pieces; i++) {
        aggregate_piece *piece = &s->window.piece[i];
        const int bytes = message_bytes(a, piece->cells);
        piece->data = piece->rank == a->rank ? own_cells(a, s->window.field, piece->cells) : to;
        if (piece->rank == a->rank) continue;
        MPI_CHECK(MPI_Irecv(to, bytes, MPI_BYTE, piece->rank, TAG, a->comm, &s->request[s->requests++]));
        to += bytes;
    }
}

static void post_sends(aggregate *a, slot *s, int64_t round)
{
    const int field = s->window.field;
    for (int n = 0; n < a->plan->count; n++) {
        const box cells = box_intersect(a->state->field[field].own, window_of(a, field, n, round));
        if (n == a->number || box_empty(cells)) continue;
        MPI_CHECK(MPI_Issend(own_cells(a, field, cells), message_bytes(a, cells), MPI_BYTE,
                             writers_rank(a->plan, n), TAG, a->comm, &s->request[s->requests++]));
    }
}

static void post(aggregate *a)
{
    slot *s = &a->slot[a->posted % SLOTS];
    int64_t round = a->posted++;
    int field = 0;
    while (round >= a->rounds[field]) round -= a->rounds[field++];
    s->requests = 0;
    s->window.field = field;
    s->window.cells = a->number < 0 ? box_make(0, 0, 0, 0) : window_of(a, field, a->number, round);
    post_receives(a, s);
    post_sends(a, s, round);
}

/* Posts what there is room for, and moves all that is under way on. */
static void move_on(aggregate *a)
{
    while (a->posted < a->all && a->posted - a->ended < SLOTS) post(a);
    for (int64_t r = a->ended; r < a->posted; r++) {
        slot *s = &a->slot[r % SLOTS];
        int complete;
        MPI_CHECK(MPI_Testall(s->requests, s->request, &complete, MPI_STATUSES_IGNORE));
        if (complete) s->requests = 0;
    }
}

const aggregate_window *aggregate_next(aggregate *a)
{
    while (!aggregate_done(a)) {
        move_on(a);
        const slot *s = &a->slot[a->ended % SLOTS];
        if (s->requests > 0) return NULL;
        if (a->number >= 0) return &s->window;
        a->ended++;
    }
    return NULL;
}

void aggregate_release(aggregate *a)
{
    assert(!aggregate_done(a) && a->slot[a->ended % SLOTS].requests == 0);
    a->ended++;
}

bool aggregate_done(const aggregate *a) { return a->ended == a->all; }

void aggregate_again(aggregate *a)
{
    assert(aggregate_done(a));
    a->posted = a->ended = 0;
}
