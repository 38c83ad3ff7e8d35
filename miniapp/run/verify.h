/* The verdict: every cell against the exact discrete answer. */
#pragma once

#include "sim/sim.h"

typedef enum verify_verdict { VERIFY_EXACT, VERIFY_FAILED, VERIFY_UNCHECKED } verify_verdict;
extern const char *const verify_name[];

typedef struct verify_result {
    verify_verdict verdict;
    double max_error, bound; /* NaN where not measured */
    sentence why;            /* unchecked: the reason */
} verify_result;

/* The verdict on the present level. Collective. */
verify_result verify_level(sim *s);
