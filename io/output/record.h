/* The JSON record of a run: one object, one line, appended. Built by the caller with jansson on rank 0. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "core/sentence.h"
#include "ranks/timer.h"

/* A number, or null where it is NaN or infinite (JSON has neither). */
json_t *record_number(double x);
/* A string. JSON is UTF-8, a path is any bytes: in a text that is not UTF-8 every byte beyond ASCII becomes
 * '?'. */
json_t *record_text(const char *text);
/* The same, or null where it is NULL or "". */
json_t *record_text_or_null(const char *text);
/* {min, p50, p90, p99, max, mean} */
json_t *record_percentiles(const timer_percentiles *t);
typedef struct record_member {
    const char *key;
    json_t *value;
} record_member;
/* Takes the members' values; returns o. */
json_t *record_add(json_t *o, const record_member *member, size_t members);
/* {rank, host, over_median}, or null where no rank stands out. */
json_t *record_straggler(const timer_straggler *t);
/* "2026-11-21T03:14:15Z" */
json_t *record_now(void);
/* Appends object and a newline to path under a lock, so that runs at the same time never mix lines; makes no
 * directories. False with one sentence in why, and the record on stdout. Does not take the reference. */
bool record_append(const char *path, const json_t *object, sentence *why);
/* Can a record be appended to path, so that minutes of measuring do not end in one that cannot be? 0, or the
 * exit status with one sentence, "output = PATH: why not", with the key. A file that begins otherwise than
 * records do, as decks, states and locks, is the user's mistake. Leaves no file. */
int record_may_write(const char *key, const char *path, sentence *why);
