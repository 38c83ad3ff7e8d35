#include "run/loop.h"

#include "base/cmd.h"
#include "files/replace.h"
#include "run/watchdog.h"
#include "state/state_folder.h"

bool saver_is_sure(const config *c) { return c->checkpoint.every > 0 || c->run.wall_limit_s > 0; }

int saver_check_folders(saver *v, sentence *why)
{
    sim *s = v->sim;
    const config *c = s->cfg;
    char folder[STATE_PATH_BYTES];
    replace_directory_of(folder, sizeof folder, c->output.final);
    const struct {
        const char *key, *dir;
        bool used;
    } all[] = { { "checkpoint.dir", c->checkpoint.dir, true }, /* where a signal's goes, too */
                { "output.series", c->output.series, c->output.every > 0 && c->output.series[0] },
                { "output.final", folder, c->output.final[0] } };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!all[i].used) continue;
        sentence reason;
        const state_status status = state_is_shared(s->top.comm, all[i].dir, &reason);
        const bool never_due = i == 0 && !saver_is_sure(c);
        v->no_folder = v->no_folder || (never_due && status != STATE_OK);
        if (status != STATE_OK && never_due)
            plan_add_note(&s->plan, false, "%s: %s; a signal would end this run without a checkpoint",
                          all[i].key, reason.text);
        if (status == STATE_OK || never_due) continue;
        sentence_set(why, "%s: %s", all[i].key, reason.text);
        return state_exit(status);
    }
    return 0;
}

state_status saver_make_writer(state_writer **w, sim *s, const char *key, state_writer_options o,
                               sentence *why)
{
    sentence note, reason = { "" };
    state_status status;
    o.writers = s->cfg->checkpoint.writers;
    o.verify = s->cfg->checkpoint.verify;
    *w = state_writer_create(s->top.comm, &o, &status, &note, &reason);
    if (note.text[0]) cmd_say(0, "%s", note.text);
    if (!*w) sentence_set(why, "%s: %s", key, reason.text);
    return status;
}

state_status saver_begin(state_writer *w, const state_request *r, sentence *why)
{
    const state_status status = state_writer_begin(w, r, why);
    const state_stats stats = state_writer_stats(w);
    if (stats.aside.text[0]) cmd_say(0, "%s", stats.aside.text);
    return status;
}

state_status saver_open(saver *v, sentence *why)
{
    sim *s = v->sim;
    const config *c = s->cfg;
    const state_writer_options o = {
        .folder = c->checkpoint.dir,
        .keep = { c->checkpoint.keep, c->checkpoint.keep_every * c->checkpoint.every },
        .async = c->checkpoint.async && !sim_has_free_level(s),
    };
    const state_status status = saver_make_writer(&v->writer, s, "checkpoint.dir", o, why);
    if (status != STATE_OK) return status;
    if (c->checkpoint.async && sim_has_free_level(s))
        plan_add_note(&s->plan, false,
                      "the steps wait while a checkpoint is written: the level is put aside where the next "
                      "one will be, since fields are in host memory");
    v->snapshot = snapshot_create(s);
    return STATE_OK;
}

void saver_close(saver *v)
{
    state_writer_destroy(&v->writer);
    snapshot_destroy(&v->snapshot);
}

/* Updates the run after a write, or after none. waited_for: exit 75 promises this file. */
static void hear(saver *v, state_status status, bool waited_for)
{
    const state_stats stats = state_writer_stats(v->writer);
    if (stats.count > v->written) {
        v->failure_said = false;
        watchdog_checkpoint(v->sim->cfg->checkpoint.dir, stats.newest_step);
    }
    v->written = stats.count;
    if (status == STATE_OK) return;
    if (waited_for || v->sim->cfg->checkpoint.on_error == CONFIG_ON_ERROR_STOP) v->stop = true;
    else if (!v->failure_said)
        cmd_say(0, "%s; the run continues (checkpoint.on_error = continue)", v->why.text);
    v->failure_said = true;
}

void saver_poll(saver *v)
{
    if (!v->writer) return;
    const bool busy = state_writer_busy(v->writer);
    if (busy) watchdog_phase("ending a checkpoint");
    hear(v, state_writer_poll(v->writer, &v->why), false);
    if (busy) watchdog_phase("steps");
}

static void wait_for(saver *v, bool waited_for)
{
    const bool busy = state_writer_busy(v->writer);
    if (busy) watchdog_phase("waiting for a checkpoint");
    if (busy) snapshot_mark(v->snapshot);
    hear(v, state_writer_wait(v->writer, &v->why), waited_for);
    if (busy) watchdog_phase("steps");
}

bool saver_save(saver *v, bool waited_for)
{
    state_level level;
    if (!v->writer && saver_open(v, &v->why) != STATE_OK) {
        v->stop = true;
        return false;
    }
    wait_for(v, false); /* for the one before: its snapshot's memory is needed, and after this all ranks
                         * know how it went */
    if (v->stop) return false;
    const bool goes_on = state_writer_stats(v->writer).async && !waited_for;
    if (!goes_on) clock_flush(v->ticks);
    watchdog_phase("checkpoint");
    snapshot_take(v->snapshot, v->deck_text, &level);
    const state_request asked = { &level, snapshot_ready, snapshot_idle, v->snapshot };
    hear(v, saver_begin(v->writer, &asked, &v->why), waited_for);
    watchdog_phase("steps");
    if (!goes_on && !v->stop) wait_for(v, waited_for);
    clock_tick(v->ticks, 0);
    return !v->stop;
}

bool saver_finish(saver *v)
{
    if (v->writer) wait_for(v, false);
    return !v->stop;
}
