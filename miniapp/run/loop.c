#include "run/loop.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/cmd.h"
#include "ranks/check.h"
#include "run/deadline.h"
#include "run/progress.h"
#include "run/watchdog.h"
#include "sim/sim_advance.h"
#include "sim/sim_state.h"

static volatile sig_atomic_t stop_asked;

static void on_signal(int number)
{
    if (number == SIGINT && stop_asked) _exit(128 + SIGINT);
    stop_asked = 1;
}

void loop_catch_signals(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    /* a limit on the size of files is an error of the write that meets it */
    action.sa_handler = SIG_IGN;
    sigaction(SIGXFSZ, &action, NULL);
}

/* All ranks leave at the same step, for a signal, the deadline or a checkpoint that failed: they look at their flags together,
 * at steps that all of them know. Looking costs a small all-reduce, so it is done about every CHECK_S seconds; rank 0 says in
 * the same message how many steps that is. */
static const double CHECK_S = 0.1;

typedef struct attention {
    int64_t next_step;
    double last_s;
    int64_t last_step;
    double deadline_s;
    double per_step_s; /* as of the last look */
} attention;

typedef enum leave { LEAVE_NOT, LEAVE_OUT_OF_TIME, LEAVE_SIGNAL, LEAVE_FAILED } leave; /* of several reasons the last counts */

/* Is there time for `checkpoints` checkpoints after the one that is under way, if one is? */
static bool have_time(const attention *a, const sim *s, const saver *v, int checkpoints)
{
    const writer_stats stats = v->writer ? writer_get_stats(v->writer) : (writer_stats){ 0 };
    const double pass_s = s->plan.block_steps > 1 ? a->per_step_s * s->plan.block_steps : 0; /* nothing ends it before its time */
    if (v->writer && writer_busy(v->writer)) checkpoints++;
    if (s->cfg->output.final[0]) checkpoints++; /* the same bytes once more, when the loop has ended */
    return !deadline_near(a->deadline_s - pass_s, &stats, checkpoints, config_state_bytes(s->cfg));
}

static leave reason_to_leave(const attention *a, const sim *s, const saver *v)
{
    if (v->stop) return LEAVE_FAILED;
    if (stop_asked) return LEAVE_SIGNAL;
    return have_time(a, s, v, 1) ? LEAVE_NOT : LEAVE_OUT_OF_TIME;
}

static leave leave_agreed(attention *a, sim *s, const saver *v)
{
    if (s->level < a->next_step) return LEAVE_NOT;
    const double now_s = timer_now_s(), passed_s = now_s - a->last_s;
    a->per_step_s = passed_s / (double)(s->level - a->last_step > 0 ? s->level - a->last_step : 1);
    const double steps = fmin(CHECK_S / fmax(a->per_step_s, 1e-9), 2.0 * (double)(s->level - a->last_step) + 1);
    int64_t mine[2] = { reason_to_leave(a, s, v), s->top.rank == 0 ? (steps < 1 ? 1 : (int64_t)steps) : 0 }, all[2];
    MPI_CHECK(MPI_Allreduce(mine, all, 2, MPI_INT64_T, MPI_MAX, s->top.comm));
    a->last_s = now_s;
    a->last_step = s->level;
    a->next_step = s->level + all[1];
    return (leave)all[0];
}

/* Norms. A step that takes its norm with it is judged when the next one is under way, so that nobody waits; a level at which
 * the run must know (the last one, a checkpoint, a signal) is judged at once. Only steps with in-kernel exchange can;
 * others are judged at once by a pass over both levels. */
typedef struct judge {
    bool rides;   /* norms come with the steps */
    bool pending; /* the last step's norm is still to be read */
    bool shown;   /* every step takes its norm and nobody judges it: many such steps go in one graph, and its last norm is shown */
} judge;

static bool norm_due(const config *c, int64_t level) { return c->time.norm_every > 0 && level % c->time.norm_every == 0; }

static bool checkpoint_due(const config *c, int64_t level) { return c->checkpoint.every > 0 && level % c->checkpoint.every == 0; }

/* Of one that is due, before the last step: would it leave no time for the one with which the run leaves at its deadline? All ranks
 * have the same answer, and there it is said once. */
static bool too_late_for(const attention *a, sim *s, const saver *v, loop_result *r)
{
    if (isinf(a->deadline_s) || s->level == s->cfg->time.steps) return false;
    int mine = !have_time(a, s, v, 2), any;
    MPI_CHECK(MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, s->top.comm));
    if (any && r->left_out++ == 0)
        sim_add_note(s, false, "no checkpoint of step %lld: the time left is too short for it and for the last one",
                     (long long)s->level);
    return any;
}

/* How many steps there are before something is to be done: at the end of the run, at norms, checkpoints and frames, and, to a
 * pass's length, when the ranks look at their flags. */
static int64_t steps_to_go(const sim *s, const judge *j, const attention *look)
{
    const config *c = s->cfg;
    const int64_t every[] = { j->shown ? 0 : c->time.norm_every, c->checkpoint.every, c->output.every };
    const int64_t to_look = look->next_step - s->level, passes_to_look = (to_look + s->plan.block_steps - 1) / s->plan.block_steps;
    int64_t steps = c->time.steps - s->level;
    for (size_t i = 0; i < sizeof every / sizeof *every; i++)
        if (every[i] > 0 && steps > every[i] - s->level % every[i]) steps = every[i] - s->level % every[i];
    if (steps > passes_to_look * s->plan.block_steps) steps = passes_to_look * s->plan.block_steps;
    return steps < 1 ? 1 : steps;
}

/* Of the steps up to the next thing to be done, those that make a norm's level in a run with temporal blocking: a pass that takes the
 * norm too, or one step by itself, or, as passes of two levels leave both, none. */
static int steps_with_norm(const sim *s, int64_t steps)
{
    if (s->plan.block_steps == 1 || !norm_due(s->cfg, s->level + steps)) return 0;
    const int taken = sim_change_steps(s, steps);
    return taken > 0 ? taken : s->prob.op.has_prev ? 0 : 1;
}

/* How many steps may be enqueued at once. A norm that is still to be judged allows one more, since of a batch only the last
 * step can be undone. */
static int steps_at_once(const sim *s, const judge *j, const attention *look, bool probed)
{
    const config *c = s->cfg;
    const int64_t steps = steps_to_go(s, j, look);
    const int last = steps_with_norm(s, steps);
    if (j->pending && c->time.tolerance > 0) return 1;
    int at_once = sim_steps_at_once(s, steps > last ? steps - last : steps, probed);
    while (j->shown && (at_once & (at_once - 1)) != 0) at_once &= at_once - 1; /* the power of two below: one graph */
    return at_once;
}

static void take_steps(sim *s, int steps, const judge *j, const step_probe *probe)
{
    const bool due = norm_due(s->cfg, s->level + steps);
    if (due && j->rides) sim_steps_with_change(s, steps, probe);
    else if (due && sim_change_steps(s, steps) == steps) sim_pass_with_change(s, steps, probe);
    else sim_steps(s, steps, probe);
}

static bool small_enough(const config *c, double change) { return c->time.tolerance > 0 && change <= c->time.tolerance; }

/* After a step: true when the run has converged, and then s stands at the first level that did. */
static bool converged(sim *s, judge *j, bool now, loop_result *r)
{
    const config *c = s->cfg;
    const double begin_s = timer_now_s();
    const bool due = norm_due(c, s->level), was_pending = j->pending;
    bool stop = false;
    if (was_pending) { /* the level before */
        r->last_change = sim_change_of(s, due ? 1 : 0);
        stop = small_enough(c, r->last_change);
        if (stop) sim_undo_step(s);
    }
    j->pending = false;
    if (!stop && due) {
        if (j->rides && !now) {
            j->pending = true;
        } else {
            r->last_change = j->rides ? sim_change_of(s, 0) : sim_change(s);
            stop = small_enough(c, r->last_change);
        }
    }
    if (was_pending || due) r->norm_s += timer_now_s() - begin_s;
    return stop;
}

/* A level that is due in the series. The checkpoint under way is waited for: it reads the memory that a frame goes through. */
static bool add_to_series(sim *s, clock_steps *ticks, saver *checkpoints, series *frames, const char *deck_text, loop_result *r)
{
    if (!saver_finish(checkpoints, ticks)) return false;
    const double begin_s = timer_now_s();
    clock_flush(ticks);
    watchdog_phase("series");
    const bool ok = series_add(frames, s, deck_text, &r->why);
    watchdog_phase("steps");
    clock_restart(ticks, s->streams.stream[0]);
    r->series_s += timer_now_s() - begin_s;
    return ok;
}

loop_result loop_run(sim *s, clock_steps *ticks, saver *checkpoints, series *frames, const char *deck_text, double deadline_s,
                     double ceiling_bytes_per_s)
{
    const config *c = s->cfg;
    const bool stencil_step = !sim_has_transpose(s);
    const int64_t first = s->level;
    loop_result r = { .end = LOOP_DONE, .last_change = NAN };
    progress bar;
    progress_begin(&bar, c, s->top.rank, first, ceiling_bytes_per_s / sim_words(s) / (double)dtype_bytes(c->problem.type));
    sim_wait(s);
    MPI_CHECK(MPI_Barrier(s->top.comm));
    const double begin_s = timer_now_s();
    attention look = { first + 1, begin_s, first, deadline_s, 0 };
    clock_restart(ticks, s->streams.stream[0]);

    judge norms = { .rides = c->time.norm_every > 0 && sim_can_step_with_change(s) };
    norms.shown = norms.rides && s->batch && c->time.norm_every == 1 && c->time.tolerance == 0;
    bool failed = series_due(c, s->level) && !add_to_series(s, ticks, checkpoints, frames, deck_text, &r);
    while (s->level < c->time.steps && !failed) {
        const bool probed = stencil_step && clock_wants_probe(ticks, s->level - first);
        const int steps = steps_at_once(s, &norms, &look, probed);
        const step_probe *probe = probed ? clock_probe(ticks, s->level - first, steps, s->level + steps) : NULL;
        take_steps(s, steps, &norms, probe);
        sim_inject_device_error(s);
        clock_tick(ticks, steps, s->streams.stream[0]);
        watchdog_step(s->level);
        saver_poll(checkpoints, ticks);

        const leave left = leave_agreed(&look, s, checkpoints);
        if (left == LEAVE_FAILED) break;
        const bool told_to_stop = left == LEAVE_SIGNAL || left == LEAVE_OUT_OF_TIME;
        const bool now = told_to_stop || checkpoint_due(c, s->level) || series_due(c, s->level) || s->level == c->time.steps;
        const bool stop_here = converged(s, &norms, now, &r); /* may go back by a level */
        const bool due = checkpoint_due(c, s->level) && !told_to_stop && !too_late_for(&look, s, checkpoints, &r);
        failed = series_due(c, s->level) && !add_to_series(s, ticks, checkpoints, frames, deck_text, &r);
        if (failed) break;
        if ((due || told_to_stop) && !saver_save(checkpoints, s, ticks, deck_text, told_to_stop)) break;
        progress_show(&bar, s->level, r.last_change);
        if (stop_here) break;
        if (told_to_stop) {
            r.end = left == LEAVE_SIGNAL ? LOOP_STOPPED : LOOP_OUT_OF_TIME;
            break;
        }
    }
    if (failed) r.end = LOOP_FAILED;
    if (!saver_finish(checkpoints, ticks)) {
        r.end = LOOP_FAILED;
        r.why = checkpoints->why;
    }
    if (checkpoints->writer) r.checkpoint_s = writer_get_stats(checkpoints->writer).stall_s;
    clock_flush(ticks);
    sim_wait(s);
    r.steps_run = s->level - first;
    r.loop_s = timer_now_s() - begin_s;
    progress_end(&bar);
    return r;
}
