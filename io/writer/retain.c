/* Steps decide, not ages or counts of files: whether a checkpoint is a milestone does not change with
 * restarts, nor with the checkpoints that signals asked for. */
#include "writer/retain.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files/replace.h"
#include "ranks/check.h"
#include "ranks/ranks.h"
#include "state/checkpoint_directory.h"
#include "state/checkpoint_xdmf.h"
#include "writer/checkpoint_write.h"

static bool is_milestone(retain_rule rule, int64_t step)
{
    return rule.milestone_steps > 0 && step % rule.milestone_steps == 0;
}

static void delete_checkpoint(const char *dir, int64_t step)
{
    char path[CHECKPOINT_PATH_BYTES], xdmf[CHECKPOINT_PATH_BYTES];
    checkpoint_path(path, sizeof path, dir, step);
    /* The description first: one without its data is the worse leftover. */
    if (checkpoint_xdmf_path(xdmf, sizeof xdmf, path)) unlink(xdmf);
    unlink(path);
}

void retain_apply(const char *dir, retain_rule rule, int64_t last, int64_t verified)
{
    int64_t *steps = NULL;
    size_t count = 0;
    if (rule.keep != 0 && checkpoint_list_here(dir, &steps, &count) == CHECKPOINT_OK) {
        int newest = 0;
        for (size_t i = 0; i < count; i++) { /* newest first */
            if (steps[i] > last || newest++ < rule.keep) continue;
            if (steps[i] != verified && !is_milestone(rule, steps[i])) delete_checkpoint(dir, steps[i]);
        }
    }
    free(steps);
}

static bool is_half_written(const char *name)
{
    const size_t stem = strlen("step_NNNNNNNNNN"), length = replace_temporary_stem(name);
    if (length == strlen(CHECKPOINT_SERIES_NAME) && strncmp(name, CHECKPOINT_SERIES_NAME, length) == 0)
        return true;
    if (length <= stem || strncmp(name, "step_", 5) != 0 || 5 + strspn(name + 5, "0123456789") != stem)
        return false;
    return (length == stem + 3 && strncmp(name + stem, ".h5", 3) == 0) ||
           (length == stem + 4 && strncmp(name + stem, ".xmf", 4) == 0);
}

int retain_clean(MPI_Comm comm, const char *dir)
{
    int deleted = 0;
    DIR *d = ranks_mine(comm) == 0 ? opendir(dir) : NULL;
    if (d) {
        for (const struct dirent *e; (e = readdir(d));)
            deleted += is_half_written(e->d_name) && unlinkat(dirfd(d), e->d_name, 0) == 0;
        closedir(d);
    }
    MPI_CHECK(MPI_Bcast(&deleted, 1, MPI_INT, 0, comm));
    return deleted;
}
