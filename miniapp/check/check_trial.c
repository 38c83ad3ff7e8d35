#include "check/check_trial.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check/check_part.h"
#include "check/check_watch.h"
#include "ranks/check.h"
#include "ranks/fault.h"
#include "ranks/ranks.h"

/* WEFT_FAULT=hang:RANK: that rank sleeps for ever, some trials after the first. */
static void hang(const check *c)
{
    enum { TRIAL = 5 };
    static int trials;
    while (fault_asked("hang") == c->top->rank && trials == TRIAL) (void)pause();
    trials++;
}

void check_trial_begin(check *c, const char *what)
{
    hang(c);
    memset(&c->mine, 0, sizeof c->mine);
    snprintf(c->trial, sizeof c->trial, "%s", what);
    check_watch_trial(c->round, what);
}

void check_trial_figure(check *c, check_figure f)
{
    f.round = c->round;
    if (c->mine.figures < CHECK_SHARE_FIGURES) c->mine.figure[c->mine.figures++] = f;
}

void check_trial_fault(check *c, check_like like, int a, int b, const char *where)
{
    if (c->mine.faults > 0) return; /* the first is enough to blame */
    c->mine.faults = 1;
    c->mine.fault = (check_fault){ .like = like, .a = a, .b = b, .round = c->round };
    sentence_set(&c->mine.fault.where, "%s", where);
}

double check_trial_noise(const timer_percentiles *t)
{
    return (t->p90 - t->min) / t->p50 / sqrt((double)t->count);
}

void check_trial_point(check *c, check_figure f, const bench_point *p)
{
    if (!p->verified) {
        check_trial_fault(c, f.like, f.a, f.b, p->wrong.text);
        return;
    }
    f.noise = check_trial_noise(&p->time_s);
    check_trial_figure(c, f);
}

int check_trial_ranks_of_a_host(const check *c)
{
    const hosts *h = c->top->where;
    int most = 0;
    for (int i = 0; i < h->count; i++)
        if (h->begin[i + 1] - h->begin[i] > most) most = h->begin[i + 1] - h->begin[i];
    return most;
}

/* ---- reports ---- */

static size_t share_bytes(const check_share *s)
{
    return s->faults > 0 ? sizeof *s : offsetof(check_share, fault);
}

static void take(check *c, int rank, const check_share *s)
{
    check_part_add(rank, c->round, c->trial, s);
    for (int i = 0; i < s->figures; i++) check_findings_add(&c->found, s->figure[i]);
    if (s->faults > 0) check_findings_add_fault(&c->found, s->fault);
    if (s->has_health) {
        check_rank *r = &c->found.rank[rank];
        r->clock_mhz = s->clock_mhz;
        r->power_w = s->power_w;
        r->temperature_c = s->temperature_c;
        r->held_by_power = r->held_by_power || s->held_by_power;
        r->held_by_heat = r->held_by_heat || s->held_by_heat;
    }
    c->asked = c->asked || s->asked;
}

/* In whatever order they come. */
static void take_all(check *c)
{
    const int ranks = c->top->ranks;
    for (int r = 1; r < ranks; r++) {
        MPI_Status from;
        MPI_Message message;
        for (int there = 0; !there;) {
            MPI_CHECK(MPI_Improbe(MPI_ANY_SOURCE, 0, c->reports, &there, &message, &from));
            if (!there) ranks_nap();
        }
        MPI_CHECK(MPI_Mrecv(&c->theirs, sizeof c->theirs, MPI_BYTE, &message, MPI_STATUS_IGNORE));
        take(c, from.MPI_SOURCE, &c->theirs);
    }
}

int check_trial_tell(check *c, int number)
{
    MPI_Request request;
    MPI_CHECK(MPI_Ibcast(&number, 1, MPI_INT, 0, c->reports, &request));
    ranks_wait_asleep(&request);
    return number;
}

/* Rank 0 may still be measured, and whoever waits for it must not take its cores. */
static void report(const check *c)
{
    MPI_Request request;
    MPI_CHECK(MPI_Isend(&c->mine, (int)share_bytes(&c->mine), MPI_BYTE, 0, 0, c->reports, &request));
    ranks_wait_asleep(&request);
}

enum { TICKS = 50 }; /* of a second: those of a month are an int */

/* WEFT_FAULT=slow_trials:SECONDS: by this clock each trial takes that long, and nothing else takes any time.
 * */
static double seconds_so_far(const check *c)
{
    static int trials;
    const int trial_s = fault_asked("slow_trials");
    trials++;
    return trial_s > 0 ? trials * trial_s : timer_now_s() - c->begin_s;
}

bool check_trial_end(check *c)
{
    c->mine.asked = check_watch_asked();
    if (c->top->rank == 0) {
        take(c, 0, &c->mine);
        take_all(c);
    } else report(c);
    const int told = check_trial_tell(c, c->asked ? 0 : 1 + (int)(TICKS * seconds_so_far(c)));
    c->time.now_s = (told - 1) / (double)TICKS;
    return told != 0;
}
