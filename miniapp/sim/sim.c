#include "sim/sim.h"

#include <stdarg.h>
#include <stdio.h>

#include "config/memory_rule.h"
#include "ranks/check.h"
#include "ranks/printable.h"

void sim_add_note(sim *s, bool asked, const char *format, ...)
{
    if (s->notes_count == SIM_NOTES_MAX) return;
    sim_note *note = &s->notes[s->notes_count++];
    char said[sizeof note->text];
    va_list ap;
    va_start(ap, format);
    note->asked = asked;
    vsnprintf(said, sizeof said, format, ap);
    printable(note->text, sizeof note->text, said);
    va_end(ap);
}

bool sim_has_transpose(const sim *s)
{
    return s->cfg->problem.kind == CONFIG_TRANSPOSE || s->cfg->problem.kind == CONFIG_SWEEP;
}

double sim_memory_bytes(const sim *s)
{
    const double transposed_bytes = sim_has_transpose(s) ? (double)halo_field_bytes(s->dev, &s->transposed_grid.shape) : 0;
    return memory_rule_bytes(s->cfg->problem.kind, s->fuse, s->top.ranks, (double)halo_field_bytes(s->dev, &s->grid.shape),
                             transposed_bytes);
}

void sim_wait(sim *s) { DEVICE_CHECK(s->dev, s->dev->synchronize(s->dev)); }

int64_t sim_own_cells(const sim *s) { return box_cells(field_own(&s->grid.shape)); }

int sim_words(const sim *s)
{
    if (sim_has_transpose(s)) return 4;
    return s->prob.two_levels ? 3 : 2;
}

static step_pass_cells cells_of_pass(const sim *s)
{
    return step_pass_cells_of(&s->pass, s->stream_count, s->cfg->problem.radius, s->fuse);
}

double sim_bytes_moved_per_pass(const sim *s)
{
    const double word = (double)dtype_bytes(s->cfg->problem.type), cells = (double)sim_own_cells(s);
    const double pack_passes = 4; /* pack reads and writes a message, unpack again */
    switch (s->cfg->problem.kind) {
    case CONFIG_TRANSPOSE: /* A read and written, B read and written; what leaves the rank is packed and unpacked once more */
        return 4 * word * cells + 2 * (double)redist_sent_bytes(s->to_transposed);
    case CONFIG_SWEEP: /* two line passes and two transposes, each a read and a write */
        return 8 * word * cells + 2 * (double)(redist_sent_bytes(s->to_transposed) + redist_sent_bytes(s->from_transposed)) +
               pack_passes * (double)(step_pass_sent_bytes(&s->pass) + step_pass_sent_bytes(&s->transposed_pass));
    case CONFIG_HEAT:
    case CONFIG_WAVE:
    case CONFIG_ADVECT:
    case CONFIG_LAPLACE:
    case CONFIG_CUSTOM: break;
    }
    const double moved_cells = s->fuse == 1 ? sim_words(s) * cells : (double)cells_of_pass(s).moved_cells;
    return moved_cells * word + pack_passes * (double)step_pass_sent_bytes(&s->pass);
}

double sim_redundant_fraction(const sim *s)
{
    return s->fuse == 1 ? 0 : (double)cells_of_pass(s).computed_cells / (double)(sim_own_cells(s) * s->fuse) - 1;
}
