/* A state file that the caller waits for: the phases of every write (phases.h), one after another. */
#include "writer/checkpoint_write.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files/replace.h"
#include "ranks/check.h"
#include "ranks/ranks.h"
#include "state/checkpoint_directory.h"
#include "state/checkpoint_rows.h"
#include "state/checkpoint_xdmf.h"
#include "writer/phases.h"

/* The phases add up shares of fingerprints, as a device gives them. What memory holds by now has to add up to
 * what was given. */
static checkpoint_status take_shares(MPI_Comm comm, const char *path, const checkpoint_state *s,
                                     checkpoint_state *shares, sentence *why)
{
    uint64_t share[CHECKPOINT_FIELDS_MAX], all[CHECKPOINT_FIELDS_MAX];
    *shares = *s;
    for (int i = 0; i < s->fields; i++) {
        const checkpoint_field *f = &s->field[i];
        shares->field[i].fingerprint = share[i] =
            checkpoint_fingerprint_share(s->type, f->data, f->own, f->nx);
    }
    MPI_CHECK(MPI_Allreduce(share, all, s->fields, MPI_UINT64_T, MPI_SUM, comm));
    for (int i = 0; i < s->fields; i++)
        if (all[i] != s->field[i].fingerprint)
            return checkpoint_fail(CHECKPOINT_IO, why,
                                   "cannot write %s: /fields/%s has fingerprint %016" PRIx64
                                   " in memory instead of %016" PRIx64,
                                   path, s->field[i].name, all[i], s->field[i].fingerprint);
    return CHECKPOINT_OK;
}

static bool is_there(void *owner, checkpoint_state *s, double *held_s)
{
    *held_s = 0;
    return true;
}

/* Deletes what dead runs left of path, which is no live run's: by one rank. */
static void unlink_left(const char *path)
{
    char folder[CHECKPOINT_PATH_BYTES];
    const char *const slash = strrchr(path, '/'), *const name = slash ? slash + 1 : path;
    replace_directory_of(folder, sizeof folder, path);
    DIR *d = opendir(folder);
    if (!d) return;
    for (const struct dirent *e; (e = readdir(d));)
        if (replace_temporary_stem(e->d_name) == strlen(name) && strncmp(e->d_name, name, strlen(name)) == 0)
            (void)unlinkat(dirfd(d), e->d_name, 0);
    closedir(d);
}

checkpoint_status checkpoint_write(MPI_Comm comm, const char *path, const checkpoint_state *s,
                                   int *aggregators, sentence *why)
{
    writer_stats stats = { .count = 0 };
    checkpoint_state shares;
    const checkpoint_status status = take_shares(comm, path, s, &shares, why);
    if (status != CHECKPOINT_OK) return status;
    if (ranks_mine(comm) == 0) unlink_left(path);
    phases *p = phases_create(comm, false, &stats, why);
    phases_begin(p, &(writer_request){ .state = &shares, .ready = is_there },
                 &(phases_order){ .path = path });
    (void)phases_wait(p, NULL, NULL);
    const sentence *const failure = phases_why(p);
    if (failure) *why = *failure;
    if (aggregators) *aggregators = stats.plan.count;
    const checkpoint_status written = phases_status(p);
    phases_destroy(&p);
    return written;
}

/* ---- a time series ---- */

/* A time series: state files of one folder, none of them ever deleted, and a description of them all that is
 * whole at any time.
 *
 * What an earlier run left in the folder never mixes with this one's: steps beyond this run's are not listed,
 * and those before were written anew on the way, by this run or by those that it was restarted from. Files of
 * steps that are no multiples of `every` are of another series. */

/* Keeps the steps that are in the series. */
static size_t choose(int64_t *steps, size_t count, int64_t every, int64_t last)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (steps[i] <= last && steps[i] % every == 0) steps[kept++] = steps[i];
    return kept;
}

static checkpoint_status describe(const char *dir, int64_t every, const checkpoint_state *s, sentence *why)
{
    char path[CHECKPOINT_PATH_BYTES];
    int64_t *steps = NULL;
    size_t count = 0;
    int code = 0;
    if (checkpoint_list_here(dir, &steps, &count) == CHECKPOINT_IO) code = EIO;
    count = code ? 0 : choose(steps, count, every, s->step);
    if (!code && count == 0) code = ENOENT; /* the file just written is gone */
    if (snprintf(path, sizeof path, "%s/" CHECKPOINT_SERIES_NAME, dir) >= (int)sizeof path)
        code = ENAMETOOLONG;
    if (!code) code = checkpoint_xdmf_write_series(path, s, steps, count);
    free(steps);
    return code ? checkpoint_file_failed("write", path, code, why) : CHECKPOINT_OK;
}

checkpoint_status checkpoint_add_to_series(MPI_Comm comm, const char *dir, int64_t every,
                                           const checkpoint_state *s, sentence *why)
{
    char path[CHECKPOINT_PATH_BYTES];
    checkpoint_path(path, sizeof path, dir, s->step);
    const checkpoint_status status = checkpoint_write(comm, path, s, NULL, why);
    if (status != CHECKPOINT_OK) return status;
    return checkpoint_agree(comm, ranks_mine(comm) == 0 ? describe(dir, every, s, why) : CHECKPOINT_OK, why);
}
