/* Who is held up on purpose, for how long, and who was: the thread that calls, and on a GPU streams, by a
 * hash of seed, rank, thread and number of the call. (Streams of the host run later anyway,
 * device_deferred.h.)
 *
 * A stream is held up before a piece of work, after all that it has waited for: so the work is late, and
 * whoever does not wait for it comes first; held up behind its work it would be late for nobody. One time in
 * eight it is late by up to 100 us, ten kernels, and now and then by up to 1 ms, some steps. A stream beside
 * the steps reads what the step after next overwrites, so a delay as long as a kernel would hide that nobody
 * waits for it: every other time it is late by .5 to 1.5 ms. The rest of the time the steps may be late for
 * it. */
#pragma once

#include "sim/sim.h"

/* stream_delay: the device's. Until the next begin. */
void storm_delay_begin(const sim *s, DEVICE_FUNCTION(stream_delay, *stream_delay), unsigned seed);
/* What is late from now on is so in the step from that level; -1: in none, as steps are captured. */
void storm_delay_level(int64_t level);
/* One time in `every`, for up to 300 us. */
void storm_delay_thread(unsigned every);
/* Before a piece of work; before the first one beside the steps. A code of the device. */
int storm_delay_work(device_stream *s);
int storm_delay_aside(device_stream *s);

/* Who was late by most on this rank. */
typedef struct storm_late {
    int64_t ns;  /* 0: nobody was */
    int64_t who; /* a stream of the interior, or one of these */
} storm_late;
enum { STORM_LATE_THREAD = -1, STORM_LATE_EXCHANGE = -2, STORM_LATE_ASIDE = -3 };
/* In that step or the one before it. */
storm_late storm_delay_most(int64_t step);
