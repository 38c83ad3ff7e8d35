#include "check/trial.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

#include "base/cmd.h"
#include "ranks/check.h"
#include "ranks/fault.h"
#include "ranks/ranks.h"
#include "run/watchdog.h"

/* ---- an end before its time ---- */

static volatile sig_atomic_t asked;

static void set_timer(long us)
{
    (void)setitimer(ITIMER_REAL, &(struct itimerval){ .it_value = { .tv_usec = us } }, NULL);
}

static void on_signal(int number)
{
    enum { WAIT_US = 800000 }; /* mpirun kills a second after its SIGTERM */
    if (!asked && number != SIGUSR1) set_timer(WAIT_US);
    asked = 1;
}

static void on_timer(int number)
{
    bench_io_delete_files();
    check_leave(CHECK_EXIT_ENVIRONMENT);
}

void check_catch_signals(void)
{
    signals_catch(SIGUSR1, on_signal);
    signals_catch(SIGTERM, on_signal);
    signals_catch(SIGINT, on_signal);
    signals_catch(SIGALRM, on_timer);
}

void trial_unwatch(void)
{
    set_timer(0);
    (void)signal(SIGALRM, SIG_IGN);
    watchdog_stop();
}

/* ---- what a trial finds ---- */

void trial_name(check *c, const char *name)
{
    c->trial = name;
    watchdog_step(c->round + 1);
    watchdog_phase(name);
}

void trial_figure(check *c, check_figure f, const timer_percentiles *t, const sentence *wrong)
{
    trial_report *const m = &c->mine;
    if (m->figures == TRIAL_FIGURES || (wrong->text[0] && m->wrong.text[0]))
        return; /* the first that is wrong is enough to blame */
    if (wrong->text[0]) m->wrong = *wrong;
    f.round = c->round;
    f.noise = (t->p90 - t->min) / t->p50 / sqrt((double)t->count);
    m->figure[m->figures++] = f;
}

/* A plane counts its cells, and a pair of ranks or hosts its fastest sample, as it does its best round. */
static double rate_of(const check *c, check_like like, const bench_point *p)
{
    const check_like_row *t = &check_likes[like];
    const double edge = (double)c->sizes.edge_cells;
    if (t->steps) return edge * edge * t->steps / p->time_s.p50;
    return t->part == CHECK_LINK || t->part == CHECK_HOST_LINK ? p->rate * p->time_s.p50 / p->time_s.min
                                                               : p->rate;
}

void trial_rung(check *c, check_figure f, const bench_item *own, bool speaks)
{
    bench_point p;
    bench_item item;
    sentence why;
    c->rungs.type = check_likes[f.like].type;
    if (!own && !bench_request_find(c->d->kind, check_likes[f.like].rung, &item)) return;
    if (!bench_measure(&c->bench, own ? own : &item, 0, &p, &why)) return;
    if (p.of.missing.text[0]) trial_left_out(c, "%s: %.400s", check_likes[f.like].name, p.of.missing.text);
    if (p.of.missing.text[0] || !speaks) return;
    f.rate = rate_of(c, f.like, &p);
    trial_figure(c, f, &p.time_s, &p.verdict.why);
    if (f.like != CHECK_CHECKPOINT || !p.verdict.right) return;
    f.like = CHECK_DISK_WRITE;
    f.rate = p.of.ceiling_rate;
    trial_figure(c, f, &p.time_s, &p.verdict.why);
}

void trial_left_out(check *c, const char *format, ...)
{
    sentence *s = &c->found.not_tried, what;
    va_list args;
    if (c->top->rank != 0 || c->round > 0) return;
    va_start(args, format);
    sentence_set_list(&what, format, args);
    va_end(args);
    sentence_add(s, "%s%.500s", s->text[0] ? "; " : "", what.text);
}

/* ---- reports ---- */

static void take(check *c, const trial_report *t)
{
    check_part_add(c, t);
    for (int i = 0; i < t->figures; i++) check_findings_add(&c->found, t->figure[i], t->wrong.text);
    c->mine.asked = c->mine.asked || t->asked;
}

/* In whatever order they come. Rank 0 may still be measured, and whoever waits for it must not take its
 * cores. */
static void report(check *c)
{
    MPI_Request request;
    trial_report theirs;
    if (c->top->rank > 0) {
        MPI_CHECK(MPI_Isend(&c->mine, sizeof c->mine, MPI_BYTE, 0, 0, c->reports, &request));
        ranks_wait_asleep(&request);
        return;
    }
    take(c, &c->mine);
    for (int r = 1; r < c->top->ranks; r++) {
        MPI_CHECK(MPI_Irecv(&theirs, sizeof theirs, MPI_BYTE, MPI_ANY_SOURCE, 0, c->reports, &request));
        ranks_wait_asleep(&request);
        take(c, &theirs);
    }
}

double trial_tell(check *c, double number)
{
    MPI_Request request;
    MPI_CHECK(MPI_Ibcast(&number, 1, MPI_DOUBLE, 0, c->reports, &request));
    ranks_wait_asleep(&request);
    return number;
}

/* ---- trials ---- */

/* WEFT_FAULT=slow_trials:SECONDS: by this clock each trial takes that long, and nothing else any time. */
static double seconds_so_far(const check *c)
{
    static int tried;
    const int trial_s = fault_asked("slow_trials");
    tried++;
    return trial_s > 0 ? tried * trial_s : timer_now_s() - c->begin_s;
}

static bool try_item(check *c, const trials *t, int item)
{
    c->mine = (trial_report){ .rank = c->top->rank };
    c->item = item;
    t->try(c, item);
    c->mine.asked = asked;
    report(c);
    const double now_s = trial_tell(c, c->mine.asked ? -1 : seconds_so_far(c));
    if (now_s >= 0) c->now_s = now_s;
    return now_s >= 0;
}

bool trial_part(check *c, const trials *t, int *items)
{
    bool more = true;
    for (int i = 0; i < *items && more; i++) {
        if (c->round > 0 || c->now_s < t->until * c->limit_s) more = try_item(c, t, i);
        else {
            trial_left_out(c, "no time for %d of %d %s", *items - i, *items, t->items);
            *items = i;
        }
    }
    return more;
}
