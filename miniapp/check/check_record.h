/* The object "check" of a round's record line; docs/contract.md has its keys. */
#pragma once

#include <jansson.h>

#include "check/verdict.h"

/* Verdict, rows and suspects are of all rounds so far, figures and faults those of this one. A new reference.
 * */
json_t *check_record(const check_findings *f, const check_verdict *v, int round, const char *level);
/* Its parts. */
json_t *check_record_ranks(const check_findings *f);
json_t *check_record_figure(const check_figure *g);
json_t *check_record_fault(const check_fault *g);
