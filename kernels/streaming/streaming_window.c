#include "streaming/streaming_window.h"

#include <assert.h>

int streaming_passes(int steps, bool norm, streaming_pass_steps *ask, const void *owner,
                     int pass[STREAMING_STEPS_MAX])
{
    const int last = norm ? ask(owner, steps, true) : 0;
    int count = 0;
    assert(1 <= steps && steps <= STREAMING_STEPS_MAX && (!norm || last > 0));
    for (int left = steps - last; left > 0; left -= pass[count++]) pass[count] = ask(owner, left, false);
    if (norm) pass[count++] = last;
    return count;
}

/* The most passes of a visit of at most w->steps steps: shorter passes take what the longest ones leave. */
static int passes_most(const streaming_window *w, streaming_pass_steps *ask, const void *owner)
{
    int pass[STREAMING_STEPS_MAX], most = 0;
    for (int steps = 1; steps <= w->steps; steps++) {
        if (steps + w->pass_steps < w->steps) continue; /* one pass fewer than steps + pass_steps has */
        for (int norm = 0; norm < 2; norm++) {
            if (norm && ask(owner, steps, true) == 0) continue;
            const int count = streaming_passes(steps, norm, ask, owner, pass);
            if (count > most) most = count;
        }
    }
    return most;
}

size_t streaming_level_bytes(const streaming_window *w)
{
    return streaming_slot_shape(w, STREAMING_SLOTS * w->slot_rows).bytes;
}

streaming_window streaming_window_within(double bytes, dtype t, int64_t nx, int levels, int radius, int steps,
                                         streaming_pass_steps *ask, const void *owner)
{
    streaming_window w = { .type = t, .nx = nx, .levels = levels, .radius = radius, .steps = steps };
    w.pass_steps = ask(owner, steps, false);
    assert(w.pass_steps > 0);
    w.skew = radius * w.pass_steps;
    const field_shape none = streaming_slot_shape(&w, 0);
    const double row_bytes = (double)none.pitch * (double)dtype_bytes(t),
                 rows = (bytes / levels - (double)none.bytes) / row_bytes;
    w.slot_rows = rows < STREAMING_SLOTS ? 0 : (int64_t)(rows / STREAMING_SLOTS);
    if (w.slot_rows <= streaming_lead_rows(&w, passes_most(&w, ask, owner))) w.slot_rows = 0;
    return w;
}

int64_t streaming_chunk_rows(const streaming_window *w, streaming_pass_steps *ask, const void *owner)
{
    int pass[STREAMING_STEPS_MAX];
    return w->slot_rows == 0
               ? 0
               : w->slot_rows - streaming_lead_rows(w, streaming_passes(w->steps, false, ask, owner, pass));
}

void streaming_window_limit(streaming_window *w, int64_t chunk_rows, streaming_pass_steps *ask,
                            const void *owner)
{
    const int64_t least = streaming_lead_rows(w, passes_most(w, ask, owner)) + 1;
    const int64_t fewer = w->slot_rows - streaming_chunk_rows(w, ask, owner) + chunk_rows,
                  rows = fewer > least ? fewer : least;
    if (rows < w->slot_rows) w->slot_rows = rows;
}
