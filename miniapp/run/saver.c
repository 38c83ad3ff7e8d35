#include "run/loop.h"

#include <stdio.h>
#include <string.h>

#include "base/cmd.h"
#include "files/replace.h"
#include "output/picture.h"
#include "ranks/check.h"
#include "ranks/timer.h"
#include "run/watchdog.h"
#include "state/state_folder.h"

/* Is a checkpoint asked for: at steps, or at a time limit of the deck? */
static bool is_sure(const config *c) { return c->checkpoint.every > 0 || c->run.wall_limit_s > 0; }

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
        const bool never_due = i == 0 && !is_sure(c);
        state_status status = state_is_shared(s->top.comm, all[i].dir, &reason);
        v->no_folder = v->no_folder || (never_due && status != STATE_OK);
        if (status == STATE_OK && never_due) status = state_is_free(s->top.comm, all[i].dir, &reason);
        if (status != STATE_OK && never_due)
            plan_add_note(&s->plan, false, "%s: %s; a signal would end this run without a checkpoint",
                          all[i].key, reason.text);
        if (status == STATE_OK || never_due) continue;
        sentence_set(why, "%s: %s", all[i].key, reason.text);
        return state_exit(status);
    }
    return 0;
}

/* Makes a writer with these options, and those that the deck has for all states; rank 0 says what dead runs
 * had left there. *w is NULL with a status, and one sentence in why that names the key. */
static state_status make_writer(state_writer **w, sim *s, const char *key, state_writer_options o,
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

/* Rank 0 says which state of another problem made room. */
static state_status begin(state_writer *w, const state_request *r, sentence *why)
{
    const state_status status = state_writer_begin(w, r, why);
    const state_stats stats = state_writer_stats(w);
    if (stats.aside.text[0]) cmd_say(0, "%s", stats.aside.text);
    return status;
}

/* Makes the writer into checkpoint.dir, as the deck says, and the snapshot. */
static state_status open_checkpoints(saver *v, sentence *why)
{
    sim *s = v->sim;
    const config *c = s->cfg;
    const bool async = c->checkpoint.async, waits = sim_has_free_level(s);
    const state_writer_options o = {
        .folder = c->checkpoint.dir,
        .keep = { c->checkpoint.keep, c->checkpoint.keep_every * c->checkpoint.every },
        .async = async && !waits,
    };
    const state_status status = make_writer(&v->writer, s, "checkpoint.dir", o, why);
    if (status != STATE_OK) return status;
    if (async && waits)
        plan_add_note(&s->plan, false,
                      "the steps wait while a checkpoint is written: the level is put aside where the next "
                      "one will be, since fields are in host memory");
    v->snapshot = snapshot_create(s);
    return STATE_OK;
}

void saver_close(saver *v)
{
    state_writer_destroy(&v->writer);
    state_writer_destroy(&v->series);
    state_writer_destroy(&v->final);
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

/* Goes on with the write under way; with `wait` until it has ended. */
static void go_on(saver *v, bool wait, bool waited_for)
{
    const bool busy = state_writer_busy(v->writer);
    if (busy) watchdog_phase(wait ? "waiting for a checkpoint" : "ending a checkpoint");
    if (busy && wait) snapshot_mark(v->snapshot);
    hear(v, (wait ? state_writer_wait : state_writer_poll)(v->writer, &v->why), waited_for);
    if (busy) watchdog_phase("steps");
}

void saver_poll(saver *v)
{
    if (v->writer) go_on(v, false, false);
}

bool saver_save(saver *v, bool waited_for)
{
    state_level level;
    if (!v->writer && open_checkpoints(v, &v->why) != STATE_OK) {
        v->stop = true;
        return false;
    }
    go_on(v, true, false); /* the one before: its snapshot's memory is needed, and after this all ranks know
                            * how it went */
    if (v->stop) return false;
    const bool goes_on = state_writer_stats(v->writer).async && !waited_for;
    if (!goes_on) clock_flush(v->ticks);
    watchdog_phase("checkpoint");
    snapshot_take(v->snapshot, v->deck_text, &level);
    const state_request asked = { &level, snapshot_ready, snapshot_idle, v->snapshot };
    hear(v, begin(v->writer, &asked, &v->why), waited_for);
    watchdog_phase("steps");
    if (!goes_on && !v->stop) go_on(v, true, waited_for);
    clock_tick(v->ticks, 0);
    return !v->stop;
}

bool saver_finish(saver *v)
{
    if (v->writer) go_on(v, true, false);
    return !v->stop;
}

/* ---- levels that the run keeps ---- */

bool saver_keeps(const config *c, int64_t level)
{
    return (c->output.series[0] || c->output.picture[0]) && c->output.every > 0 &&
           level % c->output.every == 0;
}

/* That of the deck, else as wide as what is drawn with it. */
static picture_scale asked_scale(const config *c)
{
    return (picture_scale){ .low = c->output.picture_low,
                            .high = c->output.picture_high,
                            .fixed = c->output.picture_low < c->output.picture_high };
}

static state_status open_frames(saver *v, sentence *why)
{
    const sim *s = v->sim;
    const config *c = s->cfg;
    sentence reason = { "" };
    v->scale = asked_scale(c);
    (void)frames_folder(v->frames, sizeof v->frames, c->output.picture); /* longer than any path of a deck */
    state_status status = STATE_OK;
    if (s->top.rank == 0) { /* it draws for all */
        status = state_make_folder(v->frames, &reason);
        /* a run that goes on keeps the frames up to its first level */
        const int code = status == STATE_OK ? frames_clear(v->frames, s->level > 0 ? s->level : -1) : 0;
        if (code)
            status = state_fail(STATE_IO, &reason, "an older run's frames in %.700s cannot be deleted: %s",
                                v->frames, strerror(code));
    }
    status = state_agree(s->top.comm, status, &reason);
    if (status != STATE_OK) sentence_set(why, "output.picture: %s", reason.text);
    return status;
}

int saver_open(saver *v, bool restarted, sentence *why)
{
    const config *c = v->sim->cfg;
    const state_writer_options final = { .file = c->output.final, .one_file_bytes = STATE_ONE_FILE_BYTES };
    const state_writer_options states = { c->output.series, .one_file_bytes = STATE_ONE_FILE_BYTES };
    state_status status = is_sure(c) ? open_checkpoints(v, why) : STATE_OK;
    if (status == STATE_OK && v->writer && restarted) state_writer_trust(v->writer, v->sim->level);
    if (status == STATE_OK && c->output.final[0])
        status = make_writer(&v->final, v->sim, "output.final", final, why);
    if (status == STATE_OK && c->output.every > 0 && c->output.series[0])
        status = make_writer(&v->series, v->sim, "output.series", states, why);
    if (status == STATE_OK && c->output.every > 0 && c->output.picture[0]) status = open_frames(v, why);
    return state_exit(status);
}

/* The picture of this level. */
static bool draw(sim *s, const char *path, picture_scale *scale, sentence *why)
{
    const config *c = s->cfg;
    const sim_field f = sim_main_field(s);
    const decomp *dec = &f.grid->dec;
    const void *data = sim_host_copy(s, f, 0);
    char title[256];
    snprintf(title, sizeof title, "weft %s, %lld x %lld, step %lld", kind_name(c->problem.kind),
             (long long)c->grid.nx, (long long)c->grid.ny, (long long)s->level);
    return picture_write(s->top.comm, path, c->problem.type, dec->nx, dec->ny, dec->own, data, title, scale,
                         why);
}

static bool write_level(const saver *v, state_writer *w, sentence *why)
{
    state_level level;
    sim_snapshot(v->sim, v->deck_text, &level);
    return begin(w, &(state_request){ .level = &level }, why) == STATE_OK;
}

bool saver_keep(saver *v)
{
    char path[STATE_PATH_BYTES + 32];
    if (!saver_finish(v)) return false;
    const double begin_s = timer_now_s();
    clock_flush(v->ticks);
    watchdog_phase("series");
    frames_path(path, sizeof path, v->frames, v->sim->level);
    const bool ok = (!v->series || write_level(v, v->series, &v->why)) &&
                    (!v->frames[0] || draw(v->sim, path, &v->scale, &v->why));
    watchdog_phase("steps");
    clock_tick(v->ticks, 0);
    v->series_s += timer_now_s() - begin_s;
    return ok;
}

bool saver_end(const saver *v, sentence *why)
{
    const config *c = v->sim->cfg;
    picture_scale asked = asked_scale(c);
    if (v->final && !write_level(v, v->final, why)) return false;
    return !c->output.picture[0] || draw(v->sim, c->output.picture, &asked, why);
}
