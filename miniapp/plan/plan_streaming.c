/* Fields in host memory, whose rows stream through the device (kernels/streaming/streaming.h): how many steps
 * a visit takes, and how many rows come at a time.
 *
 * A model decides, of what was measured on an H200 and an H100. While rows are on their way, the device
 * computes what is there: a visit takes as long as the longer of the two. More steps a visit make the way
 * count less, and let ghosts and leads grow, which take memory, and between ranks are computed twice; larger
 * chunks fill the device better, and begin and end a visit slowly. */
#include <inttypes.h>
#include <math.h>

#include "files/figure.h"
#include "plan/plan_rules.h"

/* At the ends that ask for more steps, the bus' lower and the kernels' upper one: some more cost little, too
 * few cost what is missing. */
static const struct {
    double bus_bytes_per_s;  /* each way, both at once */
    double pass_cells_per_s; /* of f32, cells times steps, for each step of a pass: longer passes are
                              * faster */
    double started_cells;    /* that the items of a pass begin with, per row that they compute in vain */
} rates = { .bus_bytes_per_s = 42e9, .pass_cells_per_s = 310e9, .started_cells = 250e3 };

/* A choice is as good as the best one if the model has it slower by less. */
static const double as_good = 1.01;

static int levels_of(const plan_question *q) { return q->op->has_prev ? 2 : 1; }
static double rows_of_rank(const plan_question *q) { return (double)q->cfg->grid.ny / q->ranks; }

static streaming_window widest_window(const plan_question *q, int steps)
{
    const config *c = q->cfg;
    const plan_through *t = q->through;
    return streaming_window_within(t->bytes, c->problem.type, c->grid.nx, levels_of(q), c->problem.radius,
                                   steps, t->pass_steps, t->owner);
}

bool plan_can_stream(const plan_question *q, sentence *why)
{
    const config *c = q->cfg;
    const plan_through *t = q->through;
    sentence none = { "" };
    if (!config_two_d(c)) sentence_set(&none, "rows stream through the device, and a 1D grid has none");
    else if (config_kind_of(c)->transposes)
        sentence_set(&none, "steps of kind %s contain transposes, which want their fields on the device",
                     kind_name(c->problem.kind));
    else if (c->run.ranks_x > 1)
        sentence_set(&none, "rows stream through the device, so only rows are cut among ranks; allowed for "
                            "run.ranks_x is 1");
    else if (t->pass_steps(t->owner, 1, false) == 0)
        sentence_set(&none, "the device has no blocks of steps for a radius of %d", c->problem.radius);
    else if (widest_window(q, 2).slot_rows == 0) /* for the shortest visits */
        sentence_set(&none, "%s of device memory are too few to stream rows of %" PRId64 " cells",
                     figure_bytes(t->bytes).text, c->grid.nx);
    return none.text[0] == '\0' || sentence_refuse(why, "run.memory = host: %s", none.text);
}

/* Seconds of two that run beside each other. Where they take about as long they wait for each other in turns:
 * a maximum that is smooth there. With this exponent it is within 2 % of what an H100 took at 324, 360 and
 * 480 steps a visit. */
static double beside(double a, double b)
{
    static const double exponent = 8;
    return pow(pow(a, exponent) + pow(b, exponent), 1 / exponent);
}

/* Seconds of a visit for each cell of a rank, in chunks of chunk_rows. */
static double visit_s(const plan_question *q, const streaming_window *w, double chunk_rows)
{
    const double word = (double)dtype_bytes(w->type), rows = rows_of_rank(q),
                 depth = (double)w->radius * w->steps;
    const double cuts = q->ranks > 1 ? 2 : 0;
    const double way = word * w->levels / rates.bus_bytes_per_s * (1 + cuts * depth / rows);
    const double rate = rates.pass_cells_per_s * w->pass_steps * sizeof(float) / word / w->levels;
    const double begun = rates.started_cells * 2 * w->skew / (chunk_rows * (double)w->nx),
                 twice = cuts * depth / 2 / rows;
    return beside(way, w->steps / rate * (1 + begun) * (1 + twice)) + way * fmin(1, chunk_rows / 4 / rows);
}

/* The window for visits of `steps` steps, with chunks as the model has them best, and for each cell the
 * seconds of all visits between norms, checkpoints and frames. Slots of no rows, INFINITY: there is no
 * room. */
static double make_window(const plan_question *q, int steps, streaming_window *w)
{
    double rows = rows_of_rank(q) + 2.0 * steps * q->cfg->problem.radius, best = 0, best_s = INFINITY;
    *w = widest_window(q, steps);
    rows = fmin(rows, (double)streaming_chunk_rows(w));
    for (; rows >= 1; rows = floor(rows / 2)) {
        const double s = visit_s(q, w, rows);
        if (s < best_s) best_s = s, best = rows;
    }
    if (best >= 1) streaming_window_limit(w, (int64_t)best);
    return best_s * ceil((double)plan_steps_in_a_row(q->cfg, false) / steps);
}

/* The fewest steps of those that are as good as the best: whole passes, or all that are taken in a row. 1:
 * single steps. */
int plan_visit_steps(const plan_question *q)
{
    const plan_through *t = q->through;
    const double in_a_row = (double)plan_steps_in_a_row(q->cfg, false),
                 deepest = floor(rows_of_rank(q) / q->cfg->problem.radius);
    const int most = (int)fmin(fmin(in_a_row, deepest), STREAMING_STEPS_MAX);
    streaming_window w;
    if (most < 2) return 1;
    const int pass_steps = t->pass_steps(t->owner, most, false);
    double best_s = make_window(q, most, &w);
    for (int steps = pass_steps; steps < most; steps += pass_steps)
        best_s = fmin(best_s, make_window(q, steps, &w));
    for (int steps = pass_steps; steps < most; steps += pass_steps)
        if (make_window(q, steps, &w) <= as_good * best_s) return steps;
    return most;
}

bool plan_make_window(plan *p, const plan_question *q, sentence *why)
{
    p->window = (streaming_window){ .slot_rows = 0 };
    if (p->block_steps == 1) return true;
    (void)make_window(q, p->block_steps, &p->window);
    return p->window.slot_rows > 0 ||
           sentence_refuse(why,
                           "rows of %" PRId64 " cells: %s of device memory have no room for visits of that "
                           "many steps",
                           q->cfg->grid.nx, figure_bytes(q->through->bytes).text);
}

void plan_explain_streaming(plan *p, const plan_question *q)
{
    sentence *because = &p->because[PLAN_BLOCK];
    p->because[PLAN_MEMORY] = q->through->because;
    sentence_add(because, "%s", because->text[0] ? "; " : "");
    if (p->block_steps > 1)
        sentence_add(because, "by a model, rows come in chunks of %" PRId64 " while the device computes",
                     streaming_chunk_rows(&p->window));
    else
        sentence_add(because, "single steps are taken by the processors, whose memory is faster than the way "
                              "to the device");
}
