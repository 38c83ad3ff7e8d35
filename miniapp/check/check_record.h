/* The object "check" of a round's record line (docs/contract.md has its keys), and the part of the record
 * that a round under way has so far: OUTPUT.part, which a check that ends well deletes. Its first line is the
 * record's head with ranks and level; each next one is what a rank reported of a trial. It is written when it
 * is measured, so that a death loses nothing, and begun anew when the round's record is written. jobs/judge
 * reads it beside OUTPUT. By rank 0. */
#pragma once

#include <jansson.h>

#include "check/trial.h"
#include "check/verdict.h"

/* Verdict, rows and suspects are of all rounds so far, figures and faults those of this one. A new reference.
 * */
json_t *check_record(const check *c, const check_verdict *v);

/* These do nothing where there is no output, and exit where the file cannot be written. head: not taken. */
void check_part_begin(const check *c, const json_t *head);
void check_part_add(const check *c, const trial_report *t);
void check_part_end(const check *c);
