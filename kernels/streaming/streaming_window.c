/* The window of a visit, for the streaming device and for planning without a device. */
#include "streaming/streaming.h"

#include <assert.h>

int streaming_device_pass_steps(const void *owner, int most, bool norm)
{
    device *d = (device *)(uintptr_t)owner; /* asked, not changed */
    return d->temporal_steps(d, most, norm);
}

int streaming_passes_of(int steps, bool norm, streaming_pass_steps *ask, const void *owner,
                        int pass[STREAMING_STEPS_MAX])
{
    const int last = norm ? ask(owner, steps, true) : 0;
    int count = 0;
    assert(1 <= steps && steps <= STREAMING_STEPS_MAX && (!norm || last > 0));
    for (int left = steps - last; left > 0; left -= pass[count++]) pass[count] = ask(owner, left, false);
    if (norm) pass[count++] = last;
    return count;
}

size_t streaming_level_bytes(const streaming_window *w)
{
    return streaming_slot_shape(w, STREAMING_SLOTS * w->slot_rows).bytes;
}

streaming_window streaming_window_within(double bytes, dtype t, int64_t nx, int levels, int radius, int steps,
                                         streaming_pass_steps *ask, const void *owner)
{
    streaming_window w = { .type = t, .nx = nx, .levels = levels, .radius = radius, .steps = steps };
    int pass[STREAMING_STEPS_MAX];
    w.pass_steps = ask(owner, steps, false);
    assert(w.pass_steps > 0);
    w.passes = streaming_passes_of(steps, false, ask, owner, pass);
    /* fewer steps by more than a pass of the longest take one pass less */
    for (int fewer = steps; fewer > 0 && fewer >= steps - w.pass_steps; fewer--)
        for (int norm = 0; norm < (ask(owner, fewer, true) > 0 ? 2 : 1); norm++) {
            const int count = streaming_passes_of(fewer, norm, ask, owner, pass);
            if (count > w.passes_most) w.passes_most = count;
        }
    w.skew = radius * w.pass_steps;
    const field_shape none = streaming_slot_shape(&w, 0);
    const double row_bytes = (double)none.pitch * (double)dtype_bytes(t),
                 rows = (bytes / levels - (double)none.bytes) / row_bytes;
    w.slot_rows = rows < STREAMING_SLOTS ? 0 : (int64_t)(rows / STREAMING_SLOTS);
    if (w.slot_rows <= streaming_lead_rows(&w, w.passes_most)) w.slot_rows = 0;
    return w;
}

void streaming_window_limit(streaming_window *w, int64_t chunk_rows)
{
    const int64_t least = streaming_lead_rows(w, w->passes_most) + 1;
    const int64_t fewer = streaming_lead_rows(w, w->passes) + chunk_rows;
    const int64_t rows = fewer > least ? fewer : least;
    if (rows < w->slot_rows) w->slot_rows = rows;
}
