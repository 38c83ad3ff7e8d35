/* The page of a check: one HTML file with its style, script and figures inside. Verdict, suspects and tables
 * are text of the page, and stand there without scripts; the script draws heat maps of pairs, distributions
 * and trends. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "core/sentence.h"

/* records: the record lines of a check, one per round, in their order; at least one. Verdict, rows and ranks
 * are the last one's. The file appears whole or not at all. False with one sentence in why; what stood under
 * the path is then as it was. By one rank; does not take the reference. */
bool check_report_write(const char *path, const json_t *records, sentence *why);
