/* What the page of a check draws, small however long the check was: per like the best round of each component
 * and the median and least of each round. */
#pragma once

#include <jansson.h>

/* records: as check_report_write takes them. {hosts: [name], host_of: [index by rank], suspects: [{part, a,
 * b}], faults: [{like, a, b}], groups: [{key, name, unit, part, alone, median, reference, components: [[a, b,
 * best]], trend: [[round, median, least, a, b]]}]}; hosts of the last record, a and b of a trend are the
 * least's. A new reference. */
json_t *check_report_digest(const json_t *records);
