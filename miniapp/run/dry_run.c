#include "run/loop.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "files/figure.h"
#include "files/replace.h"
#include "ranks/check.h"
#include "ranks/printable.h"
#include "ranks/ranks.h"
#include "ranks/timer.h"
#include "state/state_folder.h"

/* ---- what would be refused ---- */

/* Where state files would go, how many, and, on rank 0, how much room there is. */
enum { DESTINATIONS = 3 };
typedef struct destination {
    const char *key, *name, *dir;
    double files, free_bytes;
} destination;

/* Multiples of `every` from level `first` to level `last`. */
static double due(int64_t every, int64_t first, int64_t last)
{
    return every == 0 || last < first ? 0 : (double)(last / every + 1 - (first + every - 1) / every);
}

/* At the nearest folder that is there (saver_check_folders has seen that it may be written). The file being
 * written stands beside those that are kept; more than one cannot be promised, since older ones may make
 * room. */
static int check_room(const config *c, destination *d, sentence *why)
{
    char folder[STATE_PATH_BYTES];
    struct statvfs fs;
    if (d->files == 0) return 0;
    if (state_nearest_folder(folder, d->dir) == 0 && statvfs(folder, &fs) == 0)
        d->free_bytes = (double)fs.f_bavail * (double)fs.f_frsize;
    if (config_state_bytes(c) <= d->free_bytes) return 0;
    return sentence_fail(CHECK_EXIT_ENVIRONMENT, why,
                         "%s = %.700s: a file needs %s, but only %s are free there", d->key, d->dir,
                         figure_bytes(config_state_bytes(c)).text, figure_bytes(d->free_bytes).text);
}

static int check_initial(const sim *s, sentence *why)
{
    const config *c = s->cfg;
    if (c->problem.initial != CONFIG_INITIAL_FILE || access(config_initial_path(c), R_OK) == 0) return 0;
    sentence_set(why, "problem.initial = %.700s cannot be read: %s", c->problem.file, strerror(errno));
    if (s->top.rank > 0) sentence_add(why, " (rank %d on %s)", s->top.rank, s->top.host);
    return CHECK_EXIT_USAGE;
}

/* ---- the account ---- */

static void print_files(const sim *s, const destination to[DESTINATIONS])
{
    const config *c = s->cfg;
    for (int i = 0; i < DESTINATIONS; i++) {
        if (to[i].files == 0) continue;
        const int writers = state_writers((uint64_t)config_state_bytes(c), s->top.ranks,
                                          c->checkpoint.writers, i == 0 ? 0 : STATE_ONE_FILE_BYTES);
        printf("# %-12s %.0f of %s", to[i].name, to[i].files, figure_bytes(config_state_bytes(c)).text);
        if (writers > 1) printf(" in %d files", writers + 1); /* parts, index */
        printf(" into %s, ", printable_text(to[i].dir));
        if (i == 1) printf("all kept: %s, ", figure_bytes(to[i].files * config_state_bytes(c)).text);
        printf("where %s are free\n", figure_bytes(to[i].free_bytes).text);
    }
}

static void print_account(sim *s, const char *deck_text)
{
    const decomp *d = &s->plan.grid.dec;
    const MPI_Comm comm = s->top.comm;
    const double mine = plan_memory_bytes(&s->plan, s->cfg, s->dev->kind, s->top.rank);
    const timer_spread memory = timer_over_ranks(mine, comm),
                       sent = timer_over_ranks(sim_sent_bytes(s), comm);
    if (s->top.rank != 0) return;
    char *const copy = CHECK_ALLOC(strdup(deck_text)), *rest = copy;
    for (const char *line; (line = strsep(&rest, "\n"));) printf("%s\n", printable_text(line));
    free(copy);
    printf("# ranks        %d on %d host%s, process grid %d x %d\n", s->top.ranks, s->top.hosts,
           s->top.hosts == 1 ? "" : "s", d->ranks_x, d->ranks_y);
    printf("# memory       %s on rank %d, which needs most; %s on all ranks\n", figure_bytes(memory.max).text,
           memory.max_rank, figure_bytes(memory.sum).text);
    if (sent.max > 0)
        printf("# halo         rank %d sends most, %s per pass; %s on all ranks\n", sent.max_rank,
               figure_bytes(sent.max).text, figure_bytes(sent.sum).text);
    printf("# device       %s, transport %s, feed %s, %d lane%s, %d step%s per pass\n", s->dev->name,
           transport_kind_name(s->plan.transport), config_feed_name(s->plan.feed), s->plan.streams,
           s->plan.streams == 1 ? "" : "s", s->plan.block_steps, s->plan.block_steps == 1 ? "" : "s");
    for (int i = 0; i < s->plan.notes; i++) printf("# note         %s\n", s->plan.note[i].said.text);
}

int dry_run(sim *s, const request *ask, sentence *why)
{
    int64_t found = -1;
    int status = ask->restart ? state_exit(restart(s, ask, &found, why)) : 0;
    const config *c = s->cfg;
    const int64_t first = found < 0 ? 0 : found, last = c->time.steps;
    const double states = due(c->checkpoint.every, first + 1, last),
                 frames = c->output.series[0] ? due(c->output.every, first, last) : 0;
    char beside[STATE_PATH_BYTES];
    replace_directory_of(beside, sizeof beside, c->output.final);
    destination to[DESTINATIONS] = { { "checkpoint.dir", "checkpoints", c->checkpoint.dir, states, 0 },
                                     { "output.series", "series", c->output.series, frames, 0 },
                                     { "output.final", "final", beside, c->output.final[0] ? 1 : 0, 0 } };
    /* all ranks read; rank 0 looks at the folders for all */
    if (status == 0 && found < 0) status = check_initial(s, why);
    for (int i = 0; i < DESTINATIONS && status == 0 && s->top.rank == 0; i++)
        status = check_room(c, &to[i], why);
    status = agree_worst(status, why, s->top.comm);
    if (status != 0) return status;
    print_account(s, ask->deck_text);
    if (ask->explain && s->top.rank == 0) plan_explain(&s->plan, "# ");
    if (s->top.rank == 0) print_files(s, to);
    if (s->top.rank == 0 && ask->restart) printf("# restart      from step %" PRId64 "\n", first);
    return 0;
}
