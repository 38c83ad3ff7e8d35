#include "check/check_time.h"

/* until: the fraction of the limit at which no more items of the part begin. The first round begins nothing
 * in the second half, so that a second one has time. */
static const struct {
    const char *items;
    double until;
} part[CHECK_TIME_PARTS] = {
    [CHECK_TIME_AT_ONCE] = { "trials at once", 0.38 },
    [CHECK_TIME_PAIRS] = { "rounds of pairs", 0.42 },
    [CHECK_TIME_PAIRS_ALONE] = { "pairs alone", 0.42 },
    [CHECK_TIME_HOSTS] = { "rounds of pairs of hosts", 0.44 },
    [CHECK_TIME_JOB] = { "trials of all ranks together", 0.48 },
    [CHECK_TIME_ALONE] = { "trials of ranks alone", 0.50 },
};

int check_time_items(check_time *t, check_time_part p, int all)
{
    if (t->round > 0) return t->done[p];
    t->all[p] = all;
    return all;
}

bool check_time_begins(check_time *t, check_time_part p)
{
    if (t->round > 0) return true;
    if (t->now_s >= part[p].until * t->limit_s) return false;
    t->done[p]++;
    return true;
}

bool check_time_again(const check_time *t, double round_s)
{
    return t->now_s + round_s <= (t->round == 0 ? t->limit_s : t->limit_s * 2 / 3);
}

void check_time_missing(const check_time *t, sentence *out)
{
    for (int p = 0; p < CHECK_TIME_PARTS; p++)
        if (t->done[p] < t->all[p])
            sentence_add(out, "%sno time for %d of %d %s", out->text[0] ? "; " : "", t->all[p] - t->done[p],
                         t->all[p], part[p].items);
}
