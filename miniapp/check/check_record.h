/* The object "check" of a round's record line (docs/contract.md has its keys), and the part of the record
 * that a round under way has so far: OUTPUT.part, which a check that ends well deletes. Its first line is the
 * record's head with ranks and level; each next one is what a rank reported of a trial. It is written when it
 * is measured, so that a death loses nothing, and emptied when the round's record is written. jobs/judge
 * reads it beside OUTPUT. By rank 0. */
#pragma once

#include <jansson.h>

#include "check/trial.h"
#include "check/verdict.h"

/* Verdict, rows and suspects are of all rounds so far, figures and faults those of this one. A new reference.
 * */
json_t *check_record(const check_findings *f, const check_verdict *v, int round, const char *level);

/* head: not taken. Does nothing where there is no output; exits where the file cannot be written. */
void check_part_begin(const char *output, const json_t *head, const check_findings *f, const char *level);
void check_part_add(int rank, int round, const char *trial, const trial_report *t);
/* The round has its record. */
void check_part_empty(void);
void check_part_end(void);
