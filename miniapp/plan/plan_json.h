/* The plan as JSON: what a run chose, in records; and `weft run --dry-run --json`, the plan of a run on ranks
 * that need not be here, whose trials jobs/predict answers. docs/contract.md has its keys. */
#pragma once

#include <jansson.h>

#include "config/request.h"

struct plan;
/* {"process_grid": {"chosen": "1 x 4", "because": ...}, ...}. */
json_t *plan_reasons_json(const struct plan *p);
json_t *plan_notes_json(const struct plan *p);
/* Prints the plan of request q on one line of stdout. An exit status, with a sentence in why where it is not
 * 0. */
int plan_print_json(const request *q, sentence *why);
