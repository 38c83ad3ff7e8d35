#include "sim/sim.h"

#include "ranks/check.h"

void sim_wait(sim *s) { DEVICE_CHECK(s->dev, s->dev->synchronize(s->dev)); }

void sim_stamp(sim *s) { DEVICE_CALL(s->dev, event_record, s->stamp[0], s->streams.stream[0]); }

double sim_since_stamp_s(sim *s)
{
    double seconds = 0;
    DEVICE_CALL(s->dev, event_record, s->stamp[1], s->streams.stream[0]);
    DEVICE_CALL(s->dev, event_sync, s->stamp[1]);
    DEVICE_CALL(s->dev, event_seconds, s->stamp[0], s->stamp[1], &seconds);
    return seconds;
}

int64_t sim_own_cells(const sim *s) { return box_cells(field_own(&s->plan.grid.shape)); }

static double halos_sent_bytes(const sim *s)
{
    return (double)(step_pass_sent_bytes(&s->pass) + step_pass_sent_bytes(&s->transposed.pass));
}

static double transposes_sent_bytes(const sim *s)
{
    const sim_transposed *t = &s->transposed;
    return (t->to ? (double)redist_sent_bytes(t->to) : 0) +
           (t->from ? (double)redist_sent_bytes(t->from) : 0);
}

double sim_sent_bytes(const sim *s) { return halos_sent_bytes(s) + transposes_sent_bytes(s); }

double sim_bytes_moved_per_pass(const sim *s)
{
    const kind_row *kind = config_kind_of(s->cfg);
    const double word = (double)dtype_bytes(s->cfg->problem.type), cells = (double)sim_own_cells(s);
    /* messages are packed and unpacked, each a read and a write; what a transpose sends is moved once more */
    const double packed = 4 * halos_sent_bytes(s), sent = 2 * transposes_sent_bytes(s);
    /* A and B are read and written */
    if (!kind->stencil) return kind->words * word * cells + sent;
    if (kind->by_lines) /* two passes over lines and two transposes, each a read and a write */
        return 8 * word * cells + sent + packed;
    const int steps = s->plan.block_steps;
    return (steps == 1 ? kind->words * cells : (double)step_pass_moved_cells(&s->pass, steps)) * word +
           packed;
}
