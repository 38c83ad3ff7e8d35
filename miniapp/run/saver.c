#include "run/saver.h"

#include "base/cmd.h"
#include "run/watchdog.h"
#include "sim/sim_state.h"

checkpoint_status saver_open(saver *v, sentence *why)
{
    sim *s = v->sim;
    const config *c = s->cfg;
    const retain_rule rule = { c->checkpoint.keep, c->checkpoint.keep_every * c->checkpoint.every };
    sentence reason = { "" };
    checkpoint_status status;
    v->writer = writer_create(s->top.comm, c->checkpoint.dir, rule,
                              c->checkpoint.async && !sim_has_free_level(s), &status, &reason);
    if (status != CHECKPOINT_OK) {
        sentence_set(why, "checkpoint.dir: %s", reason.text);
        return status;
    }
    if (writer_note(v->writer)[0]) cmd_say(0, "%s", writer_note(v->writer));
    if (c->checkpoint.async && sim_has_free_level(s))
        sim_add_note(s, false,
                     "the steps wait while a checkpoint is written: the level is put aside where the next "
                     "one will be, since fields are in host memory");
    if (writer_not_async(v->writer)[0])
        sim_add_note(s, false, "the steps wait while a checkpoint is written: %.300s",
                     writer_not_async(v->writer));
    if (c->checkpoint.aggregators > s->top.ranks)
        sim_add_note(s, false, "checkpoint.aggregators = %d: there are only %d ranks, and all of them write",
                     c->checkpoint.aggregators, s->top.ranks);
    v->snapshot = snapshot_create(s);
    return CHECKPOINT_OK;
}

void saver_close(saver *v)
{
    writer_destroy(&v->writer);
    snapshot_destroy(&v->snapshot);
}

/* What a finished write, or none, means for the run. waited_for: exit 75 promises this file. */
static void hear(saver *v, checkpoint_status status, bool waited_for)
{
    const writer_stats stats = writer_get_stats(v->writer);
    if (stats.count > v->written) {
        v->failure_said = false;
        watchdog_checkpoint(v->sim->cfg->checkpoint.dir, stats.newest_step);
    }
    v->written = stats.count;
    if (status == CHECKPOINT_OK) return;
    if (waited_for || v->sim->cfg->checkpoint.on_error == CONFIG_ON_ERROR_STOP) v->stop = true;
    else if (!v->failure_said)
        cmd_say(0, "%s; the run continues (checkpoint.on_error = continue)", v->why.text);
    v->failure_said = true;
}

void saver_poll(saver *v)
{
    if (!v->writer) return;
    const bool busy = writer_busy(v->writer);
    hear(v, writer_poll(v->writer, &v->why), false);
    if (busy && !writer_busy(v->writer)) clock_write_ended(v->ticks);
}

static void wait_for(saver *v, bool waited_for)
{
    const bool busy = writer_busy(v->writer);
    if (busy) watchdog_phase("waiting for a checkpoint");
    if (busy) snapshot_mark(v->snapshot);
    hear(v, writer_wait(v->writer, &v->why), waited_for);
    if (busy) {
        watchdog_phase("steps");
        clock_write_ended(v->ticks);
    }
}

bool saver_save(saver *v, bool waited_for)
{
    checkpoint_state state;
    if (!v->writer && saver_open(v, &v->why) != CHECKPOINT_OK) {
        v->stop = true;
        return false;
    }
    wait_for(v, false); /* for the one before: its snapshot's memory is needed, and after this all ranks
                         * know how it went */
    if (v->stop) return false;
    const bool goes_on = writer_get_stats(v->writer).async && !waited_for;
    if (!goes_on) clock_flush(v->ticks);
    watchdog_phase("checkpoint");
    snapshot_take(v->snapshot, v->deck_text, &state);
    const writer_request request = { &state, snapshot_ready, snapshot_idle, v->snapshot };
    hear(v, writer_submit(v->writer, &request, &v->why), waited_for);
    watchdog_phase("steps");
    if (goes_on) {
        clock_leave_out(v->ticks);
        if (writer_busy(v->writer)) clock_write_begins(v->ticks);
    } else {
        if (!v->stop) wait_for(v, waited_for);
        clock_restart(v->ticks);
    }
    return !v->stop;
}

bool saver_finish(saver *v)
{
    if (v->writer) wait_for(v, false);
    return !v->stop;
}
