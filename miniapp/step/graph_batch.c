#include "step/step.h"

#include <assert.h>

#include "ranks/check.h"

_Static_assert(1 << (GRAPH_BATCH_SIZES - 1) == GRAPH_BATCH_STEPS_MAX &&
                   (int)GRAPH_BATCH_STEPS_MAX <= (int)INKERNEL_PASS_NORMS_MAX,
               "the largest size");

/* A graph is kept by the slot of its norms, or by one of these. */
enum { PLAIN = INKERNEL_PASS_SLOTS, ALONE };
_Static_assert(ALONE + 1 == GRAPH_BATCH_KINDS, "kinds of graphs");

/* With in-kernel exchange arguments repeat every INKERNEL_EPOCHS steps; else the fields alternate. */
static int epochs(const step_pass *p) { return step_in_kernel(p) ? INKERNEL_EPOCHS : 2; }

static device_graph *graph_of(step_streams *s, step_pass *p, int epoch, int size, int kind)
{
    device *d = s->dev;
    device_graph **g = &p->graph[epoch][size][kind];
    if (*g) return *g;
    DEVICE_CALL(d, graph_begin, s->stream[0]);
    step_complete(s); /* other streams join by it */
    const int steps = 1 << size, norms = kind >= INKERNEL_PASS_SLOTS ? 0 : p->of.every_norm ? steps : 1;
    for (int n = 0; n < steps; n++) {
        const bool norm = n >= steps - norms;
        const int from = (epoch + n) % INKERNEL_EPOCHS;
        step_take(s, p,
                  (step_job){ .next = p->of.field[from % 2],
                              .cur = p->of.field[1 - from % 2],
                              .steps = p->of.block_steps,
                              .exchange = kind != ALONE,
                              .epoch = from,
                              .rides = norm ? (inkernel_pass_norm){ kind, n - (steps - norms), norms }
                                            : (inkernel_pass_norm){ 0 } });
    }
    DEVICE_CALL(d, graph_end, s->stream[0], g);
    step_complete(s); /* what was recorded above is the graph's */
    return *g;
}

void graph_batch_prepare(step_streams *s, step_pass *p, bool change)
{
    for (int epoch = 0; epoch < epochs(p); epoch++)
        for (int size = 0; size < GRAPH_BATCH_SIZES; size++)
            for (int kind = change ? 0 : PLAIN; kind <= PLAIN; kind++)
                (void)graph_of(s, p, epoch, size, kind);
}

void graph_batch_launch(step_streams *s, step_pass *p, step_job *j, int64_t steps)
{
    device *d = s->dev;
    const bool norms = j->norm != NULL, every_norm = norms && p->of.every_norm;
    assert(!norms || (j->exchange && step_can_change(p)));
    assert(!every_norm || (steps & (steps - 1)) == 0); /* one graph: its norms are one run */
    int epoch = step_in_kernel(p) ? j->epoch : j->next.u == p->of.field[1].u;
    for (int64_t left = steps; left > 0;) {
        int size = GRAPH_BATCH_SIZES - 1;
        while (1 << size > left) size--;
        left -= 1 << size;
        const int kind = left == 0 && norms ? j->rides.slot : j->exchange ? PLAIN : ALONE;
        DEVICE_CALL(d, graph_launch, graph_of(s, p, epoch, size, kind), s->stream[0]);
        epoch = (epoch + (1 << size)) % epochs(p);
    }
    step_complete(s);
    if (every_norm) j->rides.of = (int)steps;
}
