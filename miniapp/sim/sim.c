#include "sim/sim.h"

#include <stdarg.h>

#include "ranks/check.h"
#include "ranks/printable.h"

void sim_add_note(sim *s, bool asked, const char *format, ...)
{
    if (s->notes_count == SIM_NOTES_MAX) return;
    plan_note *note = &s->notes[s->notes_count++];
    sentence said;
    va_list ap;
    va_start(ap, format);
    note->asked = asked;
    sentence_set_list(&said, format, ap);
    printable(note->said.text, sizeof note->said.text, said.text);
    va_end(ap);
}

double sim_memory_bytes(const sim *s)
{
    return plan_memory_bytes(&s->plan, s->cfg, s->dev->kind, s->top.rank);
}

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

static step_pass_cells cells_of_pass(const sim *s)
{
    return step_pass_cells_of(&s->pass, s->plan.block_steps);
}

/* Cells that leave the rank in a transpose are packed and unpacked once more. */
static double bytes_of_transposes(const sim *s)
{
    const int64_t sent_bytes = redist_sent_bytes(s->transposed.to) +
                               (s->transposed.from ? redist_sent_bytes(s->transposed.from) : 0);
    return 2 * (double)sent_bytes;
}

double sim_bytes_moved_per_pass(const sim *s)
{
    const kind_row *kind = config_kind_of(s->cfg);
    const double word = (double)dtype_bytes(s->cfg->problem.type), cells = (double)sim_own_cells(s);
    const double pack_passes = 4; /* pack reads and writes a message, unpack again */
    /* A and B are read and written */
    if (!kind->stencil) return kind->words * word * cells + bytes_of_transposes(s);
    if (kind->by_lines) /* two passes over lines and two transposes, each a read and a write */
        return 8 * word * cells + bytes_of_transposes(s) +
               pack_passes *
                   (double)(step_pass_sent_bytes(&s->pass) + step_pass_sent_bytes(&s->transposed.pass));
    const double moved_cells =
        s->plan.block_steps == 1 ? kind->words * cells : (double)cells_of_pass(s).moved_cells;
    return moved_cells * word + pack_passes * (double)step_pass_sent_bytes(&s->pass);
}

double sim_redundant_fraction(const sim *s)
{
    return s->plan.block_steps == 1
               ? 0
               : (double)cells_of_pass(s).computed_cells / (double)(sim_own_cells(s) * s->plan.block_steps) -
                     1;
}
