#include "step/step.h"

#include <assert.h>
#include <stdlib.h>

#include "ranks/check.h"

enum { SIZES = 6 }; /* 1 << 0 .. 1 << (SIZES - 1) steps */
_Static_assert(1 << (SIZES - 1) == GRAPH_BATCH_STEPS_MAX &&
                   (int)GRAPH_BATCH_STEPS_MAX <= (int)INKERNEL_PASS_NORMS_MAX,
               "the largest size");

/* A graph is kept by the slot of its norms, or by one of these. */
enum { PLAIN = INKERNEL_PASS_SLOTS, ALONE, KINDS };

struct graph_batch {
    step_streams *s; /* not owned, as is: */
    step_pass *p;
    bool every_norm; /* every_norm: with norms every step has one, else the last one alone */
    int epochs;      /* with in-kernel exchange INKERNEL_EPOCHS; else 2: the buffers alternate */
    device_graph *graph[INKERNEL_EPOCHS][SIZES][KINDS]; /* [epoch of the first level]; NULL: not captured
                                                         * yet */
};

graph_batch *graph_batch_create(step_streams *s, step_pass *p, bool every_norm)
{
    graph_batch *b = CHECK_ALLOC(calloc(1, sizeof *b));
    *b = (graph_batch){ s, p, every_norm, .epochs = step_in_kernel(p) ? INKERNEL_EPOCHS : 2 };
    return b;
}

void graph_batch_destroy(graph_batch **b)
{
    if (!b || !*b) return;
    device *d = (*b)->s->dev;
    for (int epoch = 0; epoch < (*b)->epochs; epoch++)
        for (int size = 0; size < SIZES; size++)
            for (int kind = 0; kind < KINDS; kind++)
                DEVICE_CALL(d, graph_destroy, &(*b)->graph[epoch][size][kind]);
    free(*b);
    *b = NULL;
}

static device_graph *graph_of(graph_batch *b, int epoch, int size, int kind)
{
    step_streams *s = b->s;
    device *d = s->dev;
    device_graph **g = &b->graph[epoch][size][kind];
    if (*g) return *g;
    DEVICE_CALL(d, graph_begin, s->stream[0]);
    step_complete(s); /* other streams join by it */
    const int steps = 1 << size, norms = kind >= INKERNEL_PASS_SLOTS ? 0 : b->every_norm ? steps : 1;
    for (int n = 0; n < steps; n++) {
        const bool norm = n >= steps - norms;
        const int from = (epoch + n) % INKERNEL_EPOCHS;
        step_take(s, b->p,
                  (step_job){ .next = b->p->of.field[from % 2],
                              .cur = b->p->of.field[1 - from % 2],
                              .steps = b->p->of.block_steps,
                              .exchange = kind != ALONE,
                              .epoch = from,
                              .rides = norm ? (inkernel_pass_norm){ kind, n - (steps - norms), norms }
                                            : (inkernel_pass_norm){ 0 } });
    }
    DEVICE_CALL(d, graph_end, s->stream[0], g);
    step_complete(s); /* what was recorded above is the graph's */
    return *g;
}

void graph_batch_prepare(graph_batch *b, bool change)
{
    for (int epoch = 0; epoch < b->epochs; epoch++)
        for (int size = 0; size < SIZES; size++)
            for (int kind = change ? 0 : PLAIN; kind <= PLAIN; kind++) (void)graph_of(b, epoch, size, kind);
}

void graph_batch_launch(graph_batch *b, step_job *j, int64_t steps)
{
    step_streams *s = b->s;
    device *d = s->dev;
    const bool norms = j->norm != NULL;
    assert(!norms || (j->exchange && step_can_change(b->p)));
    assert(!norms || !b->every_norm || (steps & (steps - 1)) == 0); /* one graph: its norms are one run */
    int epoch = step_in_kernel(b->p) ? j->epoch : j->next.u == b->p->of.field[1].u;
    for (int64_t left = steps; left > 0;) {
        int size = SIZES - 1;
        while (1 << size > left) size--;
        left -= 1 << size;
        const int kind = left == 0 && norms ? j->rides.slot : j->exchange ? PLAIN : ALONE;
        DEVICE_CALL(d, graph_launch, graph_of(b, epoch, size, kind), s->stream[0]);
        epoch = (epoch + (1 << size)) % b->epochs;
    }
    step_complete(s);
    if (norms && b->every_norm) j->rides.of = (int)steps;
}
