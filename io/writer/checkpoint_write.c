/* A state file that the caller waits for: the phases of every write (phases.h), one after another. */
#include <dirent.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "files/replace.h"
#include "ranks/check.h"
#include "ranks/ranks.h"
#include "state/checkpoint_bands.h"
#include "state/checkpoint_directory.h"
#include "writer/phases.h"

/* The phases add up shares of fingerprints, as a device gives them. What memory holds by now has to add up to what was given. */
static checkpoint_status take_shares(MPI_Comm comm, const char *path, const checkpoint_state *s, checkpoint_state *shares,
                                     sentence *why)
{
    uint64_t share[CHECKPOINT_FIELDS_MAX], all[CHECKPOINT_FIELDS_MAX];
    *shares = *s;
    for (int i = 0; i < s->fields; i++) {
        const checkpoint_field *f = &s->field[i];
        shares->field[i].fingerprint = share[i] = checkpoint_fingerprint_share(s->type, f->data, f->own, f->nx);
    }
    MPI_CHECK(MPI_Allreduce(share, all, s->fields, MPI_UINT64_T, MPI_SUM, comm));
    for (int i = 0; i < s->fields; i++)
        if (all[i] != s->field[i].fingerprint)
            return checkpoint_fail(CHECKPOINT_IO, why,
                                   "cannot write %s: /fields/%s has fingerprint %016" PRIx64 " in memory instead of %016" PRIx64, path,
                                   s->field[i].name, all[i], s->field[i].fingerprint);
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

checkpoint_status checkpoint_write(MPI_Comm comm, const char *path, const checkpoint_state *s, int *aggregators, sentence *why)
{
    writer_stats stats = { .count = 0 };
    checkpoint_state shares;
    const checkpoint_status status = take_shares(comm, path, s, &shares, why);
    if (status != CHECKPOINT_OK) return status;
    const int rank = ranks_mine(comm);
    if (rank == 0) unlink_left(path);
    phases *p = phases_create(comm, false, &stats, why);
    phases_begin(p, &(writer_request){ .state = &shares, .ready = is_there }, &(phases_order){ .path = path });
    (void)phases_wait(p, NULL, NULL);
    const sentence *const failure = phases_why(p);
    if (failure) *why = *failure;
    if (aggregators) *aggregators = stats.plan.count;
    const checkpoint_status written = failure ? CHECKPOINT_IO : CHECKPOINT_OK;
    phases_destroy(&p);
    return written;
}
