/* The words of a verdict: names of components, and why one is blamed. */
#pragma once

#include "judge/blame.h"
#include "judge/judge.h"

/* "GPU of rank 3 (node7, GPU-0b5b4cd2, 0000:00:06.0)", "link of ranks 2 and 3 (node7)", "host node7 (8 ranks
 * from 0 on)". */
void check_name(sentence *out, const check_findings *f, check_candidate who);

/* Of a component that is slow, and its name, where one way of a link alone is slow. */
void check_slow_text(check_suspect *out, const check_findings *f, const check_points *p,
                     const check_blame *blame);
