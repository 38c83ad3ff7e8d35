/* The part of the record that a round under way has so far: OUTPUT.part, which a check that ends well
 * deletes. The first line is the record's head with ranks and level; each next one is what a rank reported of
 * a trial. It is written when it is measured, so that a death loses nothing, and emptied when the round's
 * record is written. jobs/judge reads it beside OUTPUT. By rank 0. */
#pragma once

#include <jansson.h>

#include "check/check_trial.h"

/* head: not taken. Does nothing where there is no output; exits where the file cannot be written. */
void check_part_begin(const char *output, const json_t *head, const check_findings *f, const char *level);
void check_part_add(int rank, int round, const char *trial, const check_share *s);
/* The round has its record. */
void check_part_empty(void);
void check_part_end(void);
