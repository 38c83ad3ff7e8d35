/* The rungs of `weft bench` as the trials of a check. */
#pragma once

#include "check/check_trial.h"

/* The rung "family/name" of this device, of that type and with these parameters, verified and timed. False:
 * there is no such rung here, or it cannot run (p->missing), or there is no memory for it. */
bool check_rung_measure(check *c, const char *name, dtype type, bench_setting *setting, int settings,
                        bench_point *p);
