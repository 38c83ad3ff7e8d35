/* weft check: rounds of trials, judged after each; at the end a page, records and a report. */
#pragma once

#include "check/check_request.h"

/* On the device that was chosen. command: as it was typed; begin_s: when the program started. Returns the
 * exit status, the same on all ranks. Collective. */
int check_machine(topology *top, device *d, const check_request *ask, const char *command, double begin_s);
