#include "step/train.h"

#include <assert.h>
#include <stdlib.h>

#include "ranks/check.h"

enum { SIZES = 6 }; /* 1 << 0 .. 1 << (SIZES - 1) steps */
_Static_assert(1 << (SIZES - 1) == TRAIN_STEPS_MAX && (int)TRAIN_STEPS_MAX <= (int)WHOLE_PASS_NORMS_MAX, "the largest size");

/* What else a graph is kept by: the turn of its norms, or one of these. */
enum { PLAIN = WHOLE_PASS_TURNS, ALONE, KINDS };

struct train {
    step_streams *s; /* not owned, as are: */
    step_pass *p;
    step_levels field[2];
    bool every_norm; /* every_norm: with norms every step has one, else the last one alone */
    int beats; /* of split steps 2: the buffers in turn */
    device_graph *graph[WHOLE_BEATS][SIZES][KINDS]; /* [beat of the first level]; NULL: not captured yet */
};

train *train_create(step_streams *s, step_pass *p, const step_levels fields[2], bool every_norm)
{
    train *t = calloc(1, sizeof *t);
    if (!t) check_fail(__FILE__, __LINE__, "calloc", "out of memory");
    *t = (train){ .s = s, .p = p, .field = { fields[0], fields[1] }, .every_norm = every_norm,
                  .beats = p->whole ? WHOLE_BEATS : 2 };
    for (int i = 0; i < 2; i++) {
        halo_know(p->halo, fields[i].u);
        if (p->prev_halo) halo_know(p->prev_halo, fields[i].prev);
    }
    return t;
}

void train_destroy(train **t)
{
    if (!t || !*t) return;
    device *d = (*t)->s->dev;
    for (int beat = 0; beat < (*t)->beats; beat++)
        for (int size = 0; size < SIZES; size++)
            for (int kind = 0; kind < KINDS; kind++) DEVICE_CHECK(d, d->graph_destroy(d, &(*t)->graph[beat][size][kind]));
    free(*t);
    *t = NULL;
}

static device_graph *graph_of(train *t, int beat, int size, int kind)
{
    step_streams *s = t->s;
    device *d = s->dev;
    device_graph **g = &t->graph[beat][size][kind];
    if (*g) return *g;
    DEVICE_CHECK(d, d->graph_begin(d, s->lane[0]));
    step_complete(s); /* other streams join by it */
    const int steps = 1 << size, norms = kind >= WHOLE_PASS_TURNS ? 0 : t->every_norm ? steps : 1;
    for (int n = 0; n < steps; n++) {
        const bool norm = n >= steps - norms;
        step_enqueue(s, t->p, t->field, kind != ALONE, (beat + n) % WHOLE_BEATS,
                     norm ? (whole_pass_norm){ kind, n - (steps - norms), norms } : (whole_pass_norm){ 0 });
    }
    DEVICE_CHECK(d, d->graph_end(d, s->lane[0], g));
    step_complete(s); /* what was recorded above is the graph's */
    return *g;
}

void train_prepare(train *t, bool change)
{
    for (int beat = 0; beat < t->beats; beat++)
        for (int size = 0; size < SIZES; size++)
            for (int kind = change ? 0 : PLAIN; kind <= PLAIN; kind++) (void)graph_of(t, beat, size, kind);
}

void train_go(train *t, void *next, void *cur, int64_t steps, bool exchange, bool change)
{
    step_streams *s = t->s;
    device *d = s->dev;
    assert(!change || (exchange && step_can_change(t->p)));
    assert(!change || !t->every_norm || (steps & (steps - 1)) == 0); /* one graph: its norms are one run */
    step_ready(s, t->p, next, cur, exchange);
    int beat = step_beat(t->p, t->field, next, exchange);
    for (int64_t left = steps; left > 0;) {
        int size = SIZES - 1;
        while (1 << size > left) size--;
        left -= 1 << size;
        const int kind = left == 0 && change ? whole_pass_turn(t->p->whole) : exchange ? PLAIN : ALONE;
        DEVICE_CHECK(d, d->graph_launch(d, graph_of(t, beat, size, kind), s->lane[0]));
        beat = (beat + (1 << size)) % t->beats;
    }
    step_complete(s);
    step_taken(s, t->p, steps, exchange, !change ? 0 : t->every_norm ? (int)steps : 1);
}
