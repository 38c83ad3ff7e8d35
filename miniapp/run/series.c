#include "run/loop.h"

#include <stdio.h>
#include <string.h>

#include "base/cmd.h"
#include "output/picture.h"
#include "ranks/check.h"
#include "state/state_folder.h"

static bool keeps_states(const config *c) { return c->output.every > 0 && c->output.series[0]; }
static bool keeps_frames(const config *c) { return c->output.every > 0 && c->output.picture[0]; }

bool series_due(const config *c, int64_t level)
{
    return (keeps_states(c) || keeps_frames(c)) && level % c->output.every == 0;
}

static state_status open_frames(series *v, sentence *why)
{
    const sim *s = v->sim;
    const config *c = s->cfg;
    sentence reason = { "" };
    v->scale = (picture_scale){ .low = c->output.picture_low,
                                .high = c->output.picture_high,
                                .fixed = c->output.picture_low < c->output.picture_high };
    (void)frames_folder(v->folder, sizeof v->folder, c->output.picture); /* longer than any path of a deck */
    state_status status = STATE_OK;
    if (s->top.rank == 0) { /* it draws for all */
        status = state_make_folder(v->folder, &reason);
        /* a run that goes on keeps the frames up to its first level */
        const int code = status == STATE_OK ? frames_clear(v->folder, s->level > 0 ? s->level : -1) : 0;
        if (code)
            status = state_fail(STATE_IO, &reason, "an older run's frames in %.700s cannot be deleted: %s",
                                v->folder, strerror(code));
    }
    status = state_agree(s->top.comm, status, &reason);
    if (status != STATE_OK) sentence_set(why, "output.picture: %s", reason.text);
    return status;
}

int series_open(series *v, sentence *why)
{
    const config *c = v->sim->cfg;
    const state_writer_options final = { .file = c->output.final, .one_file_bytes = STATE_ONE_FILE_BYTES },
                               states = { .folder = c->output.series,
                                          .one_file_bytes = STATE_ONE_FILE_BYTES };
    state_status status = STATE_OK;
    if (c->output.final[0]) status = saver_make_writer(&v->final, v->sim, "output.final", final, why);
    if (status == STATE_OK && keeps_states(c))
        status = saver_make_writer(&v->writer, v->sim, "output.series", states, why);
    if (status == STATE_OK && keeps_frames(c)) status = open_frames(v, why);
    return state_exit(status);
}

/* The picture of this level; scale NULL: in colours of its own. */
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

static bool save(const series *v, state_writer *w, sentence *why)
{
    state_level level;
    sim_snapshot(v->sim, v->deck_text, &level);
    return saver_begin(w, &(state_request){ .level = &level }, why) == STATE_OK;
}

bool series_add(series *v, sentence *why)
{
    char path[STATE_PATH_BYTES + 32];
    if (v->writer && !save(v, v->writer, why)) return false;
    frames_path(path, sizeof path, v->folder, v->sim->level);
    return !keeps_frames(v->sim->cfg) || draw(v->sim, path, &v->scale, why);
}

bool series_end(const series *v, sentence *why)
{
    const config *c = v->sim->cfg;
    picture_scale asked = { .low = c->output.picture_low, .high = c->output.picture_high, .fixed = true };
    if (v->final && !save(v, v->final, why)) return false;
    return !c->output.picture[0] ||
           draw(v->sim, c->output.picture, asked.low < asked.high ? &asked : NULL, why);
}

void series_close(series *v)
{
    state_writer_destroy(&v->writer);
    state_writer_destroy(&v->final);
}
