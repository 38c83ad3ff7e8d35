/* The words of a command line in two goes: options and the deck's path first, assignments once the deck is
 * read, since they win over it. Then the outputs of the run that it asks for, looked at before any is made: a
 * long run must not find out at its end that a file cannot be made, replaces what is no file, or stands in
 * the way of another. */
#include "config/request.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cmd_key.h"
#include "deck/deck.h"
#include "files/replace.h"
#include "output/picture.h"
#include "output/record.h"
#include "ranks/check.h"
#include "ranks/ranks.h"
#include "state/state_folder.h"

enum { RANKS_MOST = 1000000 };

const cmd_option request_options[] = {
    { "--restart", "FILE_OR_DIR",
      "continue from a state file, or from the newest whole one in a directory; at step 0 if it has none" },
    { "--restart-if-any", "FILE_OR_DIR",
      "the same, but start at step 0 if FILE_OR_DIR does not exist: for scripts of jobs that may be "
      "requeued" },
    { "--dry-run", NULL,
      "check deck, ranks, device, restart and outputs; print the resolved deck and what the run would need" },
    { "--explain", NULL,
      "print each choice of the run, why it was made, and what would have to change for another; with "
      "--dry-run before any trial" },
    { "--json", NULL,
      "with --dry-run: print the plan as JSON, for ranks=N (1) with per_host=M (8) on each host, none of "
      "which need be here; answers=JSON has what its trials would measure" },
    { "--quiet", NULL,
      "print no table and no progress; the record holds all results, and errors are still printed" },
    { NULL, NULL, NULL },
};

/* A name alone, as heat2d, may be a deck that came with the program: of its installation or its checkout. */
static char *find_deck(const char *name, sentence *why)
{
    static const char *const inputs[] = { "../share/weft", ".." };
    char program[PATH_MAX], path[PATH_MAX + 256];
    const ssize_t bytes = readlink("/proc/self/exe", program, sizeof program - 1);
    sentence none;
    char *text = deck_file_text(name, why);
    if (text || bytes < 0 || strpbrk(name, "/.")) return text;
    program[bytes] = '\0';
    const char *const folder = dirname(program);
    for (int i = 0; i < 2 && !text; i++) {
        snprintf(path, sizeof path, "%s/%s/inputs/%.200s.ini", folder, inputs[i], name);
        text = deck_file_text(path, &none);
    }
    return text;
}

/* Rank 0 reads and passes on the text, or its sentence: the deck need not be on a shared file system. */
static bool read_deck(deck *d, const char *path, sentence *why)
{
    const bool reads = ranks_mine(ranks_world()) == 0;
    char *text = reads ? find_deck(path, why) : NULL;
    if (!agree_or_say(text || !reads, why, ranks_world())) return false;
    int bytes = text ? (int)strlen(text) : 0;
    MPI_CHECK(ranks_bcast(&bytes, 1, MPI_INT, 0, ranks_world()));
    if (!text) text = CHECK_ALLOC(calloc((size_t)bytes + 1, 1));
    MPI_CHECK(ranks_bcast(text, bytes, MPI_CHAR, 0, ranks_world()));
    const bool ok = deck_read_text(d, text, path, why);
    free(text);
    return ok;
}

/* The words that --json adds, which no deck has. */
static const cmd_key own_keys[] = {
    { .key = "ranks", CMD_KEY_INT, offsetof(request, ranks), .least = 1, .most = RANKS_MOST },
    { .key = "per_host", CMD_KEY_INT, offsetof(request, per_host), .least = 1, .most = RANKS_MOST },
    { .key = "answers", CMD_KEY_OUTPUT, offsetof(request, answers) },
};
enum { OWN_KEYS = sizeof own_keys / sizeof *own_keys };

/* Takes the words of a line but for the assignments to keys of the deck, which are left in argv, argc of
 * them. */
static bool parse_words(request *q, int *argc, char **argv, sentence *why)
{
    const int words = *argc;
    *argc = 0;
    q->dry_run = cmd_has_option(words, argv, "--dry-run");
    q->explain = cmd_has_option(words, argv, "--explain");
    q->json = cmd_has_option(words, argv, "--json");
    q->quiet = cmd_has_option(words, argv, "--quiet");
    q->ranks = 1;
    q->per_host = 8;
    for (int i = 1; i < words; i++) {
        char *const word = argv[i];
        const bool if_any = strcmp(word, "--restart-if-any") == 0;
        if (if_any || strcmp(word, "--restart") == 0) {
            if (++i == words) return sentence_refuse(why, "%s needs a state file or a directory", word);
            if (q->restart)
                return sentence_refuse(why, "%s %s: a restart from %s is given already; only one is allowed",
                                       word, argv[i], q->restart);
            q->restart_if_any = if_any;
            q->restart = argv[i];
        } else if (word[0] == '-') continue;
        else if (q->json && strchr(word, '=') && cmd_key_find(own_keys, OWN_KEYS, word)) {
            if (!cmd_key_set(own_keys, OWN_KEYS, q, word, why)) return false;
        } else if (strchr(word, '=')) argv[(*argc)++] = word;
        else if (q->deck)
            return sentence_refuse(
                why, "a second deck '%s' after '%s'; changes are given as section.key=value", word, q->deck);
        else q->deck = word;
    }
    if (q->per_host > q->ranks) q->per_host = q->ranks;
    if (!q->deck) return sentence_refuse(why, "no deck; usage: weft run DECK [section.key=value ...]");
    return !q->json || q->dry_run || sentence_refuse(why, "--json needs --dry-run, which was not given");
}

/* grid.boundary stands for all four sides: on the command line it wins over the sides that the deck names. */
static bool apply_assignments(deck *d, int count, char **assignment, sentence *why)
{
    static const char *const sides[] = { "grid.x_low", "grid.x_high", "grid.y_low", "grid.y_high" };
    static const char all[] = "grid.boundary=";
    for (int i = 0; i < count; i++)
        for (int side = 0; side < 4 && strncmp(assignment[i], all, strlen(all)) == 0; side++)
            deck_remove(d, sides[side]);
    for (int i = 0; i < count; i++)
        if (!deck_set(d, assignment[i], why)) return false;
    return true;
}

/* A relative path of problem.initial without a file here may have one in the deck's folder. */
static void find_initial(request *q)
{
    char folder[PATH_MAX], *const beside = q->cfg.problem.beside;
    const char *const file = q->cfg.problem.file;
    const size_t bytes = sizeof q->cfg.problem.beside;
    if (q->cfg.problem.initial != CONFIG_INITIAL_FILE || file[0] == '/') return;
    snprintf(folder, sizeof folder, "%s", q->deck);
    if (ranks_mine(ranks_world()) == 0 && access(file, F_OK) != 0 &&
        (snprintf(beside, bytes, "%s/%s", dirname(folder), file) >= (int)bytes || access(beside, F_OK) != 0))
        beside[0] = '\0';
    MPI_CHECK(ranks_bcast(beside, (int)bytes, MPI_CHAR, 0, ranks_world()));
}

bool request_make(request *q, int argc, char **argv, sentence *why)
{
    deck d = { NULL, 0 };
    memset(q, 0, sizeof *q);
    const bool ok = parse_words(q, &argc, argv, why) && read_deck(&d, q->deck, why) &&
                    apply_assignments(&d, argc, argv, why) && config_from_deck(&q->cfg, &d, why);
    if (ok) find_initial(q);
    if (ok) config_ignored_keys(&q->cfg, &d, &q->ignored);
    deck_free(&d);
    if (q->quiet) q->cfg.output.progress = CONFIG_PROGRESS_OFF;
    if (ok) q->deck_text = config_to_text(&q->cfg);
    return ok;
}

void request_free(request *q)
{
    free(q->deck_text);
    q->deck_text = NULL;
}

/* ---- outputs ---- */

enum { PLACES_MAX = 14, PATH_BYTES = STATE_PATH_BYTES };

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

/* The lock of states in a folder, or of one: no output may have its name. */
static void add_lock(places *all, const char *key, const char *folder, const char *file)
{
    char path[STATE_PATH_BYTES];
    state_lock_path(path, folder, file);
    if (folder ? folder[0] : file[0]) add(all, key, PLACE_INPUT, path);
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
    add_lock(all, "the lock of output.final", NULL, c->output.final);
    if (c->output.every > 0) add_lock(all, "the lock of output.series", c->output.series, NULL);
    add_lock(all, "the lock of checkpoint.dir", c->checkpoint.dir, NULL);
}

/* Refuses a name whose link, pipe, socket or device the file would replace, and one in which a state of
 * another step would be damage. */
static int check_sort(const place *p, sentence *why)
{
    struct stat own;
    if (state_step_of(p->path) >= 0)
        return sentence_fail(CHECK_EXIT_USAGE, why,
                             "%s = %.700s has a checkpoint's name; allowed is another one", p->key, p->path);
    if (lstat(p->path, &own) != 0 || S_ISREG(own.st_mode) || S_ISDIR(own.st_mode)) return 0;
    return sentence_fail(
        CHECK_EXIT_USAGE, why,
        "%s = %.700s is a link, pipe, socket or device, which the file would replace; allowed is a new name "
        "or that of a regular file%s",
        p->key, p->path, strcmp(p->path, "/dev/null") == 0 ? ", or none, which writes nothing" : "");
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
    return sentence_fail(CHECK_EXIT_ENVIRONMENT, why, "%s = %.700s: %s", p->key, p->path, strerror(code));
}

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
    return sentence_fail(CHECK_EXIT_USAGE, why,
                         "%s = %.300s and %s = %.300s are the same %s; allowed is another name for %s",
                         a->key, a->path, b->key, b->path,
                         a->use == PLACE_FOLDER && b->use == PLACE_FOLDER ? "folder" : "file",
                         b->use == PLACE_INPUT ? "the output" : "one of them");
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
    return sentence_fail(CHECK_EXIT_ENVIRONMENT, why, "output.record = %.700s: %.900s", record, reason.text);
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
    return agree_worst(status, why, ranks_world());
}
