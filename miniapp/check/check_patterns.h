/* Patterns over free memory: all of it is filled, then all of it is compared, so that a bit that does not
 * hold, or an address that reaches another place, is seen wherever it is. */
#pragma once

#include "core/sentence.h"
#include "device/device.h"
#include "ranks/timer.h"

typedef struct check_patterns {
    int64_t bytes;            /* that could be had; 0: none, and nothing else holds */
    sentence wrong;           /* pattern, chunk, offset, what was written and read; "" where all was right */
    timer_percentiles time_s; /* of a pass: all bytes written, and read; NaN where some was wrong */
    double rate;              /* bytes/s, each byte counted twice */
} check_patterns;

/* bytes: at most, in chunks of an eighth of it or 1 GiB. No memory of two ranks, and none of two rounds, has
 * the same words. Ends the job where a call of the device fails; waits for it. */
void check_patterns_try(device *d, device_stream *s, int64_t bytes, int rank, int round, check_patterns *out);
