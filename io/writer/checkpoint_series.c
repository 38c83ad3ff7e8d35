/* A time series: state files of one folder, none of them ever deleted, and a description of them all that is whole at any time.
 *
 * What an earlier run left in the folder never mixes with this one's: steps beyond this run's are not listed, and those before
 * were written anew on the way, by this run or by those that it was restarted from. Files of steps that are no multiples of
 * `every` are of another series. */
#include "writer/checkpoint_series.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "ranks/check.h"
#include "ranks/ranks.h"
#include "state/checkpoint_directory.h"
#include "state/checkpoint_xdmf.h"
#include "writer/checkpoint_write.h"

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
    if (snprintf(path, sizeof path, "%s/" CHECKPOINT_SERIES_NAME, dir) >= (int)sizeof path) code = ENAMETOOLONG;
    if (!code) code = checkpoint_xdmf_write_series(path, s, steps, count);
    free(steps);
    return code ? checkpoint_file_failed("write", path, code, why) : CHECKPOINT_OK;
}

checkpoint_status checkpoint_add_to_series(MPI_Comm comm, const char *dir, int64_t every, const checkpoint_state *s, sentence *why)
{
    char path[CHECKPOINT_PATH_BYTES];
    const int rank = ranks_mine(comm);
    checkpoint_path(path, sizeof path, dir, s->step);
    const checkpoint_status status = checkpoint_write(comm, path, s, NULL, why);
    if (status != CHECKPOINT_OK) return status;
    return checkpoint_agree(comm, rank == 0 ? describe(dir, every, s, why) : CHECKPOINT_OK, why);
}
