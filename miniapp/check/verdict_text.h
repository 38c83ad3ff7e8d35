/* Names of parts and what a GPU tells of itself. */
#pragma once

#include "check/findings.h"

/* "GPU of rank 3 (node7, GPU-0b5b4cd2, 0000:00:06.0)"; a = -1: all of them. */
void check_name(sentence *out, const check_findings *f, check_part part, int a, int b);
/* Adds "; its power limit holds it down: 1410 MHz (the others 1980), 600 W, 55 C" where there is such. */
void check_add_state(sentence *out, const check_findings *f, int rank);
