/* The cells of all ranks, brought to the few that write, in windows of some blocks of a part. What a rank has
 * of a window lies together in its memory, so a message is a piece of memory as it is. All ranks go through
 * the same rounds, a window of each part in each; one window is received while the one before is written.
 * Messages are synchronous: no rank's memory fills with what cannot be written yet. Where every rank writes
 * its own cells there are no messages, and a field is a window. */
#include "state/attempt.h"

#include <assert.h>
#include <stdlib.h>

#include "ranks/check.h"
#include "ranks/decomp.h"
#include "ranks/ranks.h"

enum { WINDOW_BLOCKS = 7 };
_Static_assert((2 * WINDOW_BLOCKS + 1) * STATE_BLOCK_BYTES < 64 << 20, "two, and a block that is read back");

struct collect {
    MPI_Comm comm;
    const state_info *s;
    const state_level *l;
    int ranks, number;
    int64_t round;         /* of the window's field */
    collect_window window; /* of this round */
    char *buffer[2];       /* of a writer that collects */
    int turn;              /* of the buffers */
    MPI_Request *request;  /* [ranks + parts], of this round */
    int count;
};

/* A rank's cells of a field, by the process grid. */
static box cells_of(const state_cells *f, int ranks, int rank)
{
    const decomp d = { .nx = f->nx, .ny = f->ny, .ranks_x = f->columns, .ranks_y = ranks / f->columns };
    return decomp_box(&d, rank);
}

static int writer(int parts, int ranks, int k) { return (int)((int64_t)k * ranks / parts); }

int collect_cut(state_info *s, const state_level *l, int ranks, int rank)
{
    int number = -1;
    s->part = CHECK_CALLOC(s->parts, sizeof *s->part);
    for (int k = 0; k < s->parts; k++) {
        if (writer(s->parts, ranks, k) == rank) number = k;
        for (int i = 0; i < s->fields; i++)
            s->part[k].of[i].cells = s->parts == ranks
                                         ? cells_of(&l->field[i], ranks, k)
                                         : decomp_share(s->field[i].nx, s->field[i].ny, s->parts, k);
    }
    state_lay_out(s, l->deck);
    return number;
}

static bool own_alone(const collect *c) { return c->s->parts == c->ranks; }

static box window_of(const collect *c, int k)
{
    const box all = c->s->part[k].of[c->window.field].cells;
    if (own_alone(c)) return c->round == 0 ? all : box_make(0, 0, 0, 0);
    return state_piece(all, c->s->type, WINDOW_BLOCKS, c->round);
}

static void send(collect *c, int k, box window)
{
    const state_cells *f = &c->l->field[c->window.field];
    const int64_t word = (int64_t)dtype_bytes(c->s->type);
    const box mine = box_intersect(window, f->own);
    if (box_empty(mine)) return;
    assert(box_height(mine) == 1 || box_width(mine) == box_width(f->own));
    MPI_CHECK(MPI_Issend((const char *)f->data + box_at(f->own, mine.x0, mine.y0) * word,
                         (int)(box_cells(mine) * word), MPI_BYTE, writer(c->s->parts, c->ranks, k),
                         c->window.field, c->comm, &c->request[c->count++]));
}

static void receive(collect *c, int from)
{
    const box window = c->window.cells,
              piece = box_intersect(window, cells_of(&c->l->field[c->window.field], c->ranks, from));
    const int word = (int)dtype_bytes(c->s->type);
    MPI_Datatype rows;
    if (box_empty(piece)) return;
    char *const at = c->buffer[c->turn] + box_at(window, piece.x0, piece.y0) * word;
    MPI_CHECK(MPI_Type_vector((int)box_height(piece), (int)box_width(piece) * word,
                              (int)box_width(window) * word, MPI_BYTE, &rows));
    MPI_CHECK(MPI_Type_commit(&rows));
    MPI_CHECK(MPI_Irecv(at, 1, rows, from, c->window.field, c->comm, &c->request[c->count++]));
    MPI_CHECK(MPI_Type_free(&rows));
}

/* False: no part has another window of this field. */
static bool begin_round(collect *c)
{
    bool any = false;
    c->window.cells = c->number < 0 ? box_make(0, 0, 0, 0) : window_of(c, c->number);
    c->window.data = own_alone(c) ? c->l->field[c->window.field].data : c->buffer[c->turn];
    for (int r = 0; r < c->ranks && !box_empty(c->window.cells) && !own_alone(c); r++) receive(c, r);
    for (int k = 0; k < c->s->parts; k++) {
        const box window = window_of(c, k);
        any = any || !box_empty(window);
        if (!own_alone(c)) send(c, k, window);
    }
    return any;
}

static void begin_next(collect *c)
{
    while (c->window.field < c->s->fields && !begin_round(c)) {
        c->window = (collect_window){ .field = c->window.field + 1 };
        c->round = 0;
    }
}

bool collect_arrived(collect *c)
{
    int all = 1;
    MPI_CHECK(MPI_Testall(c->count, c->request, &all, MPI_STATUSES_IGNORE));
    return all;
}

bool collect_next(collect *c, collect_window *out)
{
    if (!collect_arrived(c)) return false;
    *out = c->window;
    c->count = 0;
    c->window.block += state_blocks(c->window.cells, c->s->type);
    c->round++;
    c->turn = 1 - c->turn;
    begin_next(c);
    return true;
}

collect *collect_begin(MPI_Comm comm, const state_info *s, const state_level *l, int number)
{
    collect *c = CHECK_ALLOC(calloc(1, sizeof *c));
    *c = (collect){ .comm = comm, .s = s, .l = l, .ranks = ranks_count(comm), .number = number };
    c->request = CHECK_CALLOC(c->ranks + s->parts, sizeof *c->request);
    for (int i = 0; i < 2 && number >= 0 && !own_alone(c); i++)
        c->buffer[i] = CHECK_ALLOC(malloc((size_t)WINDOW_BLOCKS * STATE_BLOCK_BYTES));
    begin_next(c);
    return c;
}

void collect_end(collect **c)
{
    if (!*c) return;
    for (int i = 0; i < 2; i++) free((*c)->buffer[i]);
    free((*c)->request);
    free(*c);
    *c = NULL;
}
