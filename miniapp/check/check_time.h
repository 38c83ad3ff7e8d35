/* The time of a quick check: it ends within its limit, start-up included, whatever the number of ranks.
 *
 * A round consists of parts in a fixed order, a part of items: turns of ranks, rounds of pairs. In the
 * first round an item begins only while its part has time. An item that does not begin is not measured in
 * later rounds either, so that all rounds have the same figures. A further round begins only if it is
 * expected to end in time. All ranks decide alike, by rank 0's clock at the end of the last trial. */
#pragma once

#include "core/sentence.h"

/* In the order of a round. */
typedef enum check_time_part {
    CHECK_TIME_AT_ONCE,     /* items: trials of each rank's own device, all ranks at once */
    CHECK_TIME_PAIRS,       /* rounds in which pairs of a host meet at once */
    CHECK_TIME_PAIRS_ALONE, /* pairs of a host, one at a time */
    CHECK_TIME_HOSTS,       /* rounds of pairs of hosts */
    CHECK_TIME_JOB,         /* trials of all ranks together */
    CHECK_TIME_ALONE,       /* trials of one rank of each host, the others asleep */
    CHECK_TIME_PARTS
} check_time_part;

typedef struct check_time {
    double limit_s; /* INFINITY: all items of all rounds begin */
    double now_s;   /* since the start, the same on all ranks */
    int round;      /* from 0 */
    int all[CHECK_TIME_PARTS], done[CHECK_TIME_PARTS]; /* items; of the first round: that began */
} check_time;

/* Items of that part in this round, of which there are `all` where time suffices. */
int check_time_items(check_time *t, check_time_part p, int all);
/* May the next item of that part begin? */
bool check_time_begins(check_time *t, check_time_part p);
/* May another round begin, which is expected to last round_s? The second one if it ends within the limit, a
 * later one if it ends within two thirds of it. */
bool check_time_again(const check_time *t, double round_s);
/* "no time for 39 of 63 rounds of pairs"; leaves `out` as it is where all items began. */
void check_time_missing(const check_time *t, sentence *out);
