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

static state_status open_states(series *v, sentence *why)
{
    const config *c = v->sim->cfg;
    state_status status;
    const state_writer_options o = { .folder = c->output.series, .one_file_bytes = STATE_ONE_FILE_BYTES };
    v->writer = saver_make_writer(v->sim, "output.series", o, &status, why);
    return status;
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
    /* it draws for all */
    state_status status = s->top.rank == 0 ? state_make_folder(v->folder, &reason) : STATE_OK;
    status = state_agree(s->top.comm, status, &reason);
    if (status != STATE_OK) sentence_set(why, "output.picture: %s", reason.text);
    if (status != STATE_OK) return status;
    /* a run that goes on keeps the frames up to its first level */
    int code = s->top.rank == 0 ? frames_clear(v->folder, s->level > 0 ? s->level : -1) : 0;
    MPI_CHECK(MPI_Bcast(&code, 1, MPI_INT, 0, s->top.comm));
    if (!code) return STATE_OK;
    sentence_set(why, "output.picture: an older run's frames in %.700s cannot be deleted: %s", v->folder,
                 strerror(code));
    return STATE_IO;
}

int series_open(series *v, sentence *why)
{
    const config *c = v->sim->cfg;
    state_status status = STATE_OK;
    if (keeps_states(c)) status = open_states(v, why);
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

bool series_add(series *v, sentence *why)
{
    sim *s = v->sim;
    const config *c = s->cfg;
    if (keeps_states(c)) {
        state_level level;
        sim_snapshot(s, v->deck_text, &level);
        if (saver_begin(v->writer, &(state_request){ .level = &level }, why) != STATE_OK) return false;
    }
    char path[STATE_PATH_BYTES + 32];
    frames_path(path, sizeof path, v->folder, s->level);
    return !keeps_frames(c) || draw(s, path, &v->scale, why);
}

bool series_picture(const series *v, sentence *why)
{
    sim *s = v->sim;
    const config *c = s->cfg;
    picture_scale asked = { .low = c->output.picture_low, .high = c->output.picture_high, .fixed = true };
    return draw(s, c->output.picture, asked.low < asked.high ? &asked : NULL, why);
}

void series_close(series *v) { state_writer_destroy(&v->writer); }
