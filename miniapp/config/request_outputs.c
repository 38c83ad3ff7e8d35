/* The outputs of a run, looked at before any is made: a long run must not find out at its end that a file
 * cannot be made, replaces what is no file, or stands in the way of another. */
#include "config/request.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/replace.h"
#include "output/picture.h"
#include "output/record.h"
#include "ranks/check.h"
#include "ranks/ranks.h"
#include "state/state_folder.h"

enum { PLACES_MAX = 11, PATH_BYTES = STATE_PATH_BYTES };

typedef enum place_use { PLACE_REPLACED, PLACE_APPENDED, PLACE_FOLDER, PLACE_INPUT } place_use;

typedef struct place {
    const char *key;
    place_use use;
    char path[PATH_BYTES], full[2 * PATH_BYTES]; /* full: without links, as far as it is there */
    bool there;
    struct stat info; /* behind links */
} place;

typedef struct places {
    place of[PLACES_MAX];
    int count;
} places;

/* Like realpath(3), but the last names need not be there. */
static void find_full(const char *path, char *out, size_t out_bytes)
{
    char folder[PATH_BYTES], name[PATH_BYTES], found[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    snprintf(name, sizeof name, "%s", path);
    const char *const above = dirname(folder), *const last = basename(name);
    const char *const whole = realpath(path, found);
    if (whole || strcmp(above, path) == 0) {
        snprintf(out, out_bytes, "%s", whole ? whole : path);
        return;
    }
    find_full(above, out, out_bytes);
    const size_t used = strlen(out);
    if (strcmp(last, ".") != 0) snprintf(out + used, out_bytes - used, "/%s", last);
}

static void add(places *all, const char *key, place_use use, const char *path)
{
    if (!path || !path[0]) return;
    place *p = &all->of[all->count++];
    p->key = key;
    p->use = use;
    snprintf(p->path, sizeof p->path, "%s", path);
    find_full(p->path, p->full, sizeof p->full);
    p->there = stat(p->path, &p->info) == 0;
}

static void gather(places *all, const request *q)
{
    const config *const c = &q->cfg;
    char beside[PATH_BYTES];
    add(all, "output.record", PLACE_APPENDED, c->output.record);
    add(all, "output.final", PLACE_REPLACED, c->output.final);
    add(all, "output.picture", PLACE_REPLACED, c->output.picture);
    if (c->output.every > 0 && c->output.picture[0] &&
        frames_folder(beside, sizeof beside, c->output.picture))
        add(all, "output.picture's frames", PLACE_FOLDER, beside);
    add(all, "output.trace", PLACE_REPLACED, c->output.trace);
    if (c->output.every > 0) add(all, "output.series", PLACE_FOLDER, c->output.series);
    if (c->checkpoint.every > 0) add(all, "checkpoint.dir", PLACE_FOLDER, c->checkpoint.dir);
    add(all, "the deck", PLACE_INPUT, q->deck);
    if (c->problem.initial == CONFIG_INITIAL_FILE)
        add(all, "problem.initial", PLACE_INPUT, config_initial_path(c));
    add(all, "--restart", PLACE_INPUT, q->restart);
}

/* ---- each by itself ---- */

/* Refuses a name whose link, pipe, socket or device the file would replace. */
static int check_sort(const place *p, sentence *why)
{
    struct stat own;
    if (lstat(p->path, &own) != 0 || S_ISREG(own.st_mode) || S_ISDIR(own.st_mode)) return 0;
    sentence_set(
        why,
        "%s = %.700s is a link, pipe, socket or device, which the file would replace; allowed is a new name "
        "or that of a regular file%s",
        p->key, p->path, strcmp(p->path, "/dev/null") == 0 ? ", or none, which writes nothing" : "");
    return CHECK_EXIT_USAGE;
}

/* Tries a file in the way it will be written. A folder is made before the first step. */
static int check_rights(const place *p, sentence *why)
{
    int code = 0;
    if (p->use == PLACE_INPUT) return 0;
    if (p->use == PLACE_APPENDED) return p->there ? record_may_write(p->key, p->path, why) : 0;
    if (p->use == PLACE_FOLDER) code = p->there && !S_ISDIR(p->info.st_mode) ? ENOTDIR : 0;
    else if (p->there && S_ISDIR(p->info.st_mode)) code = EISDIR;
    else if (p->there && access(p->path, W_OK) != 0) code = errno;
    else code = replace_try(p->path);
    if (!code) return 0;
    sentence_set(why, "%s = %.700s: %s", p->key, p->path, strerror(code));
    return CHECK_EXIT_ENVIRONMENT;
}

/* ---- two of them ---- */

static bool is_kept(mode_t mode) { return S_ISREG(mode) || S_ISDIR(mode); }

static bool same_place(const place *a, const place *b)
{
    /* two may write to one terminal */
    if (strcmp(a->full, b->full) == 0) return !a->there || is_kept(a->info.st_mode);
    return a->there && b->there && is_kept(a->info.st_mode) && a->info.st_dev == b->info.st_dev &&
           a->info.st_ino == b->info.st_ino;
}

static int check_pair(const place *a, const place *b, sentence *why)
{
    if (a->use == PLACE_INPUT || (a->use == PLACE_FOLDER && b->use == PLACE_INPUT) || !same_place(a, b))
        return 0;
    sentence_set(why, "%s = %.300s and %s = %.300s are the same %s; allowed is another name for %s", a->key,
                 a->path, b->key, b->path,
                 a->use == PLACE_FOLDER && b->use == PLACE_FOLDER ? "folder" : "file",
                 b->use == PLACE_INPUT ? "the output" : "one of them");
    return CHECK_EXIT_USAGE;
}

/* The folder of a record that is not there yet; a dry run only sees whether it could be made. */
static int make_record_folder(const request *q, sentence *why)
{
    char folder[PATH_BYTES], above[STATE_PATH_BYTES];
    const char *const record = q->cfg.output.record;
    sentence reason;
    if (!record[0] || access(record, F_OK) == 0) return 0;
    int code = errno == ENAMETOOLONG ? errno : 0;
    replace_directory_of(folder, sizeof folder, record);
    if (!code) code = state_nearest_folder(above, folder);
    if (!code) code = replace_try_folder(above);
    if (code) sentence_set(&reason, "%s", strerror(code));
    else if (q->dry_run || state_make_folder(folder, &reason) == STATE_OK) return 0;
    sentence_set(why, "output.record = %.700s: %.900s", record, reason.text);
    return CHECK_EXIT_ENVIRONMENT;
}

/* The user's mistakes before what the machine refuses. */
static int check_all(const places *all, sentence *why)
{
    int status = 0;
    for (const place *p = all->of; p < all->of + all->count && status == 0; p++) {
        if (p->use == PLACE_REPLACED) status = check_sort(p, why);
        for (const place *b = p + 1; b < all->of + all->count && status == 0; b++)
            status = check_pair(p, b, why);
    }
    for (const place *p = all->of; p < all->of + all->count && status == 0; p++)
        status = check_rights(p, why);
    return status;
}

int request_check_outputs(const request *q, sentence *why)
{
    int status = 0;
    if (ranks_mine(ranks_world()) == 0) {
        places *all = CHECK_ALLOC(calloc(1, sizeof *all));
        gather(all, q);
        status = check_all(all, why);
        free(all);
        if (status == 0) status = make_record_folder(q, why);
    }
    MPI_CHECK(ranks_bcast(&status, 1, MPI_INT, 0, ranks_world()));
    return status;
}
