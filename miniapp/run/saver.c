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

/* An output of states. */
typedef struct output {
    const char *key;
    bool sure; /* has work: else a signal's checkpoint alone */
    state_writer_options how;
} output;

static output output_of(const sim *s, saver_output which)
{
    const config *c = s->cfg;
    output all[] = {
        [SAVER_CHECKPOINTS] = { "checkpoint.dir",
                                c->checkpoint.every > 0 || c->run.wall_limit_s > 0,
                                { .folder = c->checkpoint.dir,
                                  .keep = { c->checkpoint.keep,
                                            c->checkpoint.keep_every * c->checkpoint.every },
                                  .async = c->checkpoint.async && !sim_has_free_level(s) } },
        [SAVER_SERIES] = { "output.series",
                           c->output.every > 0 && c->output.series[0],
                           { .folder = c->output.series, .one_file_bytes = STATE_ONE_FILE_BYTES } },
        [SAVER_FINAL] = { "output.final",
                          c->output.final[0],
                          { .file = c->output.final, .one_file_bytes = STATE_ONE_FILE_BYTES } },
    };
    all[which].how.writers = c->checkpoint.writers;
    all[which].how.verify = c->checkpoint.verify;
    return all[which];
}

int saver_check_folders(saver *v, sentence *why)
{
    sim *s = v->sim;
    for (saver_output i = 0; i < SAVER_OUTPUTS; i++) {
        const output o = output_of(s, i);
        char folder[STATE_PATH_BYTES];
        sentence reason;
        if (!o.sure && i != SAVER_CHECKPOINTS) continue;
        if (o.how.file) replace_directory_of(folder, sizeof folder, o.how.file);
        state_status status = state_is_shared(s->top.comm, o.how.file ? folder : o.how.folder, &reason);
        v->no_folder = v->no_folder || (!o.sure && status != STATE_OK);
        if (!o.sure && status == STATE_OK) status = state_is_free(s->top.comm, o.how.folder, &reason);
        if (status == STATE_OK) continue;
        sentence_set(why, "%s: %s", o.key, reason.text);
        if (o.sure) return state_exit(status);
        plan_add_note(&s->plan, false, "%s; a signal would end this run without a checkpoint", why->text);
    }
    return 0;
}

/* Makes a writer, and what a snapshot needs; rank 0 says what dead runs had left there. There is none with a
 * status, and one sentence in why that names the key. */
static state_status make_writer(saver *v, saver_output which, sentence *why)
{
    sim *s = v->sim;
    const output o = output_of(s, which);
    sentence note, reason = { "" };
    state_status status;
    v->writer[which] = state_writer_create(s->top.comm, &o.how, &status, &note, &reason);
    if (note.text[0]) cmd_say(0, "%s", note.text);
    if (status != STATE_OK) return sentence_fail(status, why, "%s: %s", o.key, reason.text);
    snapshot_prepare(s);
    if (which == SAVER_CHECKPOINTS && s->cfg->checkpoint.async && !o.how.async)
        plan_add_note(&s->plan, false,
                      "the steps wait while a checkpoint is written: the level is put aside where the next "
                      "one will be, since fields are in host memory");
    return STATE_OK;
}

/* Begins a write of this level; rank 0 says which state of another problem made room. */
static state_status begin(const saver *v, saver_output to, sentence *why)
{
    state_writer *const w = v->writer[to];
    const state_request asked = snapshot_take(v->sim, v->deck_text);
    const state_status status = state_writer_begin(w, &asked, why);
    const state_stats stats = state_writer_stats(w);
    if (stats.aside.text[0]) cmd_say(0, "%s", stats.aside.text);
    return status;
}

void saver_close(saver *v)
{
    for (int i = 0; i < SAVER_OUTPUTS; i++) state_writer_destroy(&v->writer[i]);
}

/* Updates the run after a write, or after none. waited_for: exit 75 promises this file. */
static void hear(saver *v, state_status status, bool waited_for)
{
    const state_stats stats = state_writer_stats(v->writer[SAVER_CHECKPOINTS]);
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

/* Goes on with the write under way, if there is a writer; with `wait` until it has ended. */
static void go_on(saver *v, bool wait, bool waited_for)
{
    state_writer *const w = v->writer[SAVER_CHECKPOINTS];
    if (!w) return;
    const bool busy = state_writer_busy(w);
    if (busy) watchdog_phase(wait ? "waiting for a checkpoint" : "ending a checkpoint");
    if (busy && wait) snapshot_mark(v->sim);
    hear(v, (wait ? state_writer_wait : state_writer_poll)(w, &v->why), waited_for);
    if (busy) watchdog_phase("steps");
}

void saver_poll(saver *v) { go_on(v, false, false); }

bool saver_save(saver *v, bool waited_for)
{
    if (!v->writer[SAVER_CHECKPOINTS] && make_writer(v, SAVER_CHECKPOINTS, &v->why) != STATE_OK) {
        v->stop = true;
        return false;
    }
    go_on(v, true, false); /* the one before: its snapshot's memory is needed, and after this all ranks know
                            * how it went */
    if (v->stop) return false;
    const bool goes_on = state_writer_stats(v->writer[SAVER_CHECKPOINTS]).async && !waited_for;
    if (!goes_on) clock_flush(v->ticks);
    watchdog_phase("checkpoint");
    hear(v, begin(v, SAVER_CHECKPOINTS, &v->why), waited_for);
    watchdog_phase("steps");
    if (!goes_on && !v->stop) go_on(v, true, waited_for);
    clock_tick(v->ticks, 0);
    return !v->stop;
}

bool saver_finish(saver *v)
{
    go_on(v, true, false);
    return !v->stop;
}

/* ---- levels that the run keeps ---- */

/* That of the deck, else as wide as what is drawn with it. */
static picture_scale asked_scale(const config *c)
{
    const picture_scale asked = { c->output.picture_low, c->output.picture_high, .fixed = true };
    return asked.low < asked.high ? asked : PICTURE_SCALE_OF_CELLS;
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
            status = sentence_fail(STATE_IO, &reason, "an older run's frames in %.700s cannot be deleted: %s",
                                   v->frames, strerror(code));
    }
    status = state_agree(s->top.comm, status, &reason);
    if (status != STATE_OK) sentence_set(why, "output.picture: %s", reason.text);
    return status;
}

int saver_open(saver *v, bool restarted, sentence *why)
{
    const config *c = v->sim->cfg;
    state_status status = STATE_OK;
    for (saver_output i = 0; i < SAVER_OUTPUTS && status == STATE_OK; i++)
        if (output_of(v->sim, i).sure) status = make_writer(v, i, why);
    if (restarted && v->writer[SAVER_CHECKPOINTS])
        state_writer_trust(v->writer[SAVER_CHECKPOINTS], v->sim->level);
    if (status == STATE_OK && c->output.every > 0 && c->output.picture[0]) status = open_frames(v, why);
    return state_exit(status);
}

/* The picture of this level. */
static bool draw(sim *s, const char *path, picture_scale *scale, sentence *why)
{
    const config *c = s->cfg;
    const sim_field f = sim_main_field(s);
    const decomp *dec = &f.grid->dec;
    char title[256];
    const picture p = { .type = c->problem.type,
                        .nx = dec->nx,
                        .ny = dec->ny,
                        .own = dec->own,
                        .data = sim_host_copy(s),
                        .title = title,
                        .scale = scale };
    snprintf(title, sizeof title, "weft %s, %lld x %lld, step %lld", kind_name(c->problem.kind),
             (long long)c->grid.nx, (long long)c->grid.ny, (long long)s->level);
    return picture_write(s->top.comm, path, &p, why);
}

bool saver_keep(saver *v)
{
    char path[STATE_PATH_BYTES + 32];
    if (!saver_finish(v)) return false;
    const double begin_s = timer_now_s();
    clock_flush(v->ticks);
    watchdog_phase("series");
    frames_path(path, sizeof path, v->frames, v->sim->level);
    const bool ok = (!v->writer[SAVER_SERIES] || begin(v, SAVER_SERIES, &v->why) == STATE_OK) &&
                    (!v->frames[0] || draw(v->sim, path, &v->scale, &v->why));
    watchdog_phase("steps");
    clock_tick(v->ticks, 0);
    v->sim->phase_s[PHASE_SERIES] += timer_now_s() - begin_s;
    return ok;
}

bool saver_end(const saver *v, sentence *why)
{
    const config *c = v->sim->cfg;
    picture_scale asked = asked_scale(c);
    if (v->writer[SAVER_FINAL] && begin(v, SAVER_FINAL, why) != STATE_OK) return false;
    return !c->output.picture[0] || draw(v->sim, c->output.picture, &asked, why);
}
