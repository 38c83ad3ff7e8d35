#include "run/loop.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "ranks/check.h"
#include "ranks/timer.h"
#include "run/watchdog.h"

/* ---- norms ---- */

/* The norms of a run's steps, as time.norm_every and time.tolerance ask. A norm that comes with its step is
 * judged when the next step is under way, so that the steps never wait; a level at which the run must know
 * (the last one, a checkpoint, a signal) is judged at once, and so is every norm that takes a pass of its
 * own. */
typedef struct norms {
    sim *sim;         /* not owned */
    int64_t every;    /* time.norm_every; 0: none */
    double tolerance; /* 0: none stops the run */
    bool ride;        /* they come with the steps: sim_norms_ride */
    int64_t pending;  /* the level whose norm is still to be read; -1: none */
    double last;      /* max |next - u| of the last level whose norm was read; NaN: none was */
    int64_t infinite; /* the first level whose norm was NaN or infinite; -1: none was */
    double seconds;   /* of this rank, spent on reading them */
} norms;

static norms norms_begin(sim *s)
{
    const config *c = s->cfg;
    norms n = { .sim = s, .every = c->time.norm_every, .tolerance = c->time.tolerance,
                .pending = -1, .last = NAN, .infinite = -1 };
    n.ride = n.every > 0 && sim_norms_ride(s);
    return n;
}

static int64_t norms_steps_to_go(const norms *n)
{
    if (n->pending >= 0 && n->tolerance > 0) return 1;
    return n->every == 0 ? INT64_MAX : n->every - n->sim->level % n->every;
}

static bool small_enough(norms *n, int64_t level)
{
    n->last = sim_norm(n->sim, level);
    if (n->infinite < 0 && !isfinite(n->last)) n->infinite = level;
    return n->tolerance > 0 && n->last <= n->tolerance;
}

/* At a step boundary; now: the run must know of this level. Goes back by a level where it hears that late. */
static bool norms_converged(norms *n, bool now)
{
    const int64_t level = n->sim->level, pending = n->pending;
    const bool due = n->every > 0 && level % n->every == 0;
    if (pending < 0 && !due) return false;
    const double begin_s = timer_now_s();
    bool converged = false;
    n->pending = -1;
    if (pending >= 0 && small_enough(n, pending)) {
        sim_undo_step(n->sim);
        converged = true;
    } else if (due && n->ride && !now) {
        n->pending = level;
    } else if (due) {
        converged = small_enough(n, level);
    }
    n->seconds += timer_now_s() - begin_s;
    return converged;
}

/* ---- progress ---- */

static const double shortest_s = 0.5, log_part = 0.1;
static const double log_s = 5, log_without_end_s = 60; /* with a tolerance the last step is not known */

void progress_begin(progress *p, const config *c, int rank, int64_t first, double copy_cells_per_s)
{
    const config_progress wanted = c->output.progress;
    p->on = rank == 0 && wanted != CONFIG_PROGRESS_OFF;
    p->redrawn = isatty(STDERR_FILENO) == 1;
    const bool for_a_log = wanted == CONFIG_PROGRESS_AUTO && !p->redrawn;
    p->first = p->shown = first;
    p->last = c->time.steps;
    p->every_s = !for_a_log ? shortest_s : c->time.tolerance == 0 ? log_s : log_without_end_s;
    p->every_steps =
        for_a_log && c->time.tolerance == 0 ? (int64_t)ceil(log_part * (double)(p->last - first)) : 1;
    p->cells = (double)c->grid.nx * (double)c->grid.ny;
    p->copy_cells_per_s = copy_cells_per_s;
    p->begin_s = p->shown_s = timer_now_s();
}

bool progress_due(const progress *p, int64_t step, double now_s)
{
    return p->on && step > p->shown && step - p->shown >= p->every_steps && now_s - p->shown_s >= p->every_s;
}

/* A line, if one is due. change: the last norm, NaN for none. */
static void progress_show(progress *p, int64_t step, double change)
{
    const double now_s = timer_now_s();
    FILE *const to = p->redrawn ? stderr : stdout;
    if (!progress_due(p, step, now_s)) return;
    const double cells_per_s = (double)(step - p->shown) * p->cells / (now_s - p->shown_s);
    const double left_s = (double)(p->last - step) * (now_s - p->begin_s) / (double)(step - p->first);
    p->shown_s = now_s;
    p->shown = step;
    fprintf(to, "%sstep %lld of %lld  %3.0f %%  %.3g GCells/s, %.3g x a copy  ", p->redrawn ? "\r" : "",
            (long long)step, (long long)p->last, 100.0 * (double)step / (double)p->last, cells_per_s * 1e-9,
            cells_per_s / p->copy_cells_per_s);
    if (!isnan(change)) fprintf(to, "change %.3e  ", change);
    fprintf(to, "%02d:%02d:%02d left%s", (int)(left_s / 3600), (int)fmod(left_s / 60, 60),
            (int)fmod(left_s, 60), p->redrawn ? " \033[K" : "\n");
    fflush(to);
}

static void progress_end(progress *p)
{
    if (p->on && p->redrawn) fprintf(stderr, "\r\033[K");
}

/* ---- the loop ---- */

static bool checkpoint_due(const config *c, int64_t level)
{
    return c->checkpoint.every > 0 && level % c->checkpoint.every == 0;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t to_next(int64_t every, int64_t level) { return every > 0 ? every - level % every : INT64_MAX; }

/* How many steps there are before something is to be done: at the end of the run, at norms, checkpoints and
 * frames, and, to a pass's length, when the ranks look at their flags. */
static int64_t steps_to_go(const config *c, const attention *look, const norms *n, int64_t level)
{
    const int64_t to_save = least(to_next(c->checkpoint.every, level), to_next(c->output.every, level));
    const int64_t to_look = least(attention_steps_to_go(look), norms_steps_to_go(n));
    const int64_t steps = least(c->time.steps - level, least(to_save, to_look));
    return steps < 1 ? 1 : steps;
}

/* A level that is due in the series. The checkpoint under way is waited for: it reads the memory that a frame
 * goes through. */
static bool add_to_series(const loop *l, loop_result *r)
{
    if (!saver_finish(l->checkpoints)) return false;
    const double begin_s = timer_now_s();
    clock_flush(l->ticks);
    watchdog_phase("series");
    const bool ok = series_add(l->frames, &r->why);
    watchdog_phase("steps");
    clock_restart(l->ticks);
    r->series_s += timer_now_s() - begin_s;
    return ok;
}

loop_result loop_run(sim *s, loop l)
{
    const config *c = s->cfg;
    const kind_row *kind = config_kind_of(c);
    const int64_t first = s->level;
    loop_result r = { .end = LOOP_DONE };
    progress bar;
    progress_begin(&bar, c, s->top.rank, first,
                   l.ceiling_bytes_per_s / kind->words / (double)dtype_bytes(c->problem.type));
    sim_wait(s);
    MPI_CHECK(MPI_Barrier(s->top.comm));
    attention look = attention_begin(s, l.checkpoints, l.start_s);
    norms changes = norms_begin(s);
    const double begin_s = timer_now_s();
    clock_restart(l.ticks);
    if (series_due(c, first) && !add_to_series(&l, &r)) r.end = LOOP_FAILED;

    for (bool converged = false; s->level < c->time.steps && r.end == LOOP_DONE && !converged;) {
        step_probe *probe = timeline_probe(l.timeline, s->level);
        const int64_t most = steps_to_go(c, &look, &changes, s->level);
        const int steps = sim_advance(s, (sim_request){ most, c->time.norm_every, true, probe });
        sim_inject_device_error(s);
        clock_tick(l.ticks, steps);
        timeline_tick(l.timeline, steps);
        watchdog_step(s->level);

        saver_poll(l.checkpoints);
        const bool due = checkpoint_due(c, s->level);
        r.end = attention_look(&look, due);
        if (r.end == LOOP_FAILED) break;

        const bool leaving = r.end != LOOP_DONE;
        const bool now = leaving || due || series_due(c, s->level) || s->level == c->time.steps;
        converged = norms_converged(&changes, now);

        if ((series_due(c, s->level) && !add_to_series(&l, &r)) ||
            ((leaving || checkpoint_due(c, s->level)) && !saver_save(l.checkpoints, leaving))) {
            r.end = LOOP_FAILED;
            break;
        }
        progress_show(&bar, s->level, changes.last);
        if (converged) r.end = LOOP_DONE;
    }
    if (!saver_finish(l.checkpoints)) {
        r.end = LOOP_FAILED;
        r.why = l.checkpoints->why;
    }
    if (l.checkpoints->writer) r.checkpoint_s = state_writer_stats(l.checkpoints->writer).stall_s;
    clock_flush(l.ticks);
    r.steps_run = s->level - first;
    r.last_change = changes.last;
    r.infinite_level = changes.infinite;
    r.norm_s = changes.seconds;
    r.loop_s = timer_now_s() - begin_s;
    progress_end(&bar);
    return r;
}
