#include "run/loop.h"

#include <math.h>

#include "ranks/check.h"
#include "run/norms.h"
#include "run/progress.h"
#include "run/watchdog.h"
#include "sim/sim_advance.h"
#include "sim/sim_state.h"

static bool checkpoint_due(const config *c, int64_t level) { return c->checkpoint.every > 0 && level % c->checkpoint.every == 0; }

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t to_next(int64_t every, int64_t level) { return every > 0 ? every - level % every : INT64_MAX; }

/* How many steps there are before something is to be done: at the end of the run, at norms, checkpoints and frames, and, to a
 * pass's length, when the ranks look at their flags. */
static int64_t steps_to_go(const sim *s, const norms *n, const attention *look)
{
    const config *c = s->cfg;
    const int64_t level = s->level, block = s->plan.block_steps;
    const int64_t to_look = (look->next_step - level + block - 1) / block * block;
    const int64_t to_save = least(to_next(c->checkpoint.every, level), to_next(c->output.every, level));
    const int64_t steps = least(least(c->time.steps - level, to_look), least(to_save, norms_steps_to_go(n, level)));
    return steps < 1 ? 1 : steps;
}

static void advance(sim *s, clock_steps *ticks, const norms *n, const attention *look)
{
    const bool probed = !sim_has_transpose(s) && clock_wants_probe(ticks, s->level);
    const int64_t most = steps_to_go(s, n, look);
    const int steps = sim_steps_at_once(s, most, norms_due(n, s->level + most), probed);
    const int64_t level = s->level + steps;
    const step_probe *probe = probed ? clock_probe(ticks, steps, level) : NULL;
    sim_advance(s, (sim_request){ .steps = steps, .norm = norms_due(n, level), .exchange = true, .probe = probe });
    sim_inject_device_error(s);
    clock_tick(ticks, steps);
    watchdog_step(level);
}

/* A level that is due in the series. The checkpoint under way is waited for: it reads the memory that a frame goes through. */
static bool add_to_series(series *frames, saver *checkpoints, clock_steps *ticks, loop_result *r)
{
    if (!saver_finish(checkpoints)) return false;
    const double begin_s = timer_now_s();
    clock_flush(ticks);
    watchdog_phase("series");
    const bool ok = series_add(frames, &r->why);
    watchdog_phase("steps");
    clock_restart(ticks);
    r->series_s += timer_now_s() - begin_s;
    return ok;
}

loop_result loop_run(sim *s, clock_steps *ticks, saver *checkpoints, series *frames, double deadline_s, double ceiling_bytes_per_s)
{
    const config *c = s->cfg;
    const int64_t first = s->level;
    loop_result r = { .end = LOOP_DONE };
    progress bar;
    progress_begin(&bar, c, s->top.rank, first, ceiling_bytes_per_s / sim_words(s) / (double)dtype_bytes(c->problem.type));
    sim_wait(s);
    MPI_CHECK(MPI_Barrier(s->top.comm));
    const double begin_s = timer_now_s();
    attention look = attention_begin(s, checkpoints, deadline_s);
    norms changes = norms_begin(s);
    clock_restart(ticks);
    if (series_due(c, first) && !add_to_series(frames, checkpoints, ticks, &r)) r.end = LOOP_FAILED;

    for (bool converged = false; s->level < c->time.steps && r.end == LOOP_DONE && !converged;) {
        advance(s, ticks, &changes, &look);

        saver_poll(checkpoints);
        r.end = attention_look(&look);
        if (r.end == LOOP_FAILED) break;

        const bool leaving = r.end != LOOP_DONE;
        const bool now = leaving || checkpoint_due(c, s->level) || series_due(c, s->level) || s->level == c->time.steps;
        converged = norms_converged(&changes, s, now); /* may go back by a level */

        const bool due = checkpoint_due(c, s->level) && !leaving && !attention_too_late(&look);
        if ((series_due(c, s->level) && !add_to_series(frames, checkpoints, ticks, &r)) ||
            ((due || leaving) && !saver_save(checkpoints, leaving))) {
            r.end = LOOP_FAILED;
            break;
        }
        progress_show(&bar, s->level, changes.last);
        if (converged) r.end = LOOP_DONE;
    }
    if (!saver_finish(checkpoints)) {
        r.end = LOOP_FAILED;
        r.why = checkpoints->why;
    }
    if (checkpoints->writer) r.checkpoint_s = writer_get_stats(checkpoints->writer).stall_s;
    clock_flush(ticks);
    sim_wait(s);
    r.steps_run = s->level - first;
    r.last_change = changes.last;
    r.norm_s = changes.seconds;
    r.loop_s = timer_now_s() - begin_s;
    progress_end(&bar);
    return r;
}
