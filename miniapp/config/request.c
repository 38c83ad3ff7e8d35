/* The words of a command line in two goes: options and the deck's path first, assignments once the deck is
 * read, since they win over it. */
#include "config/request.h"

#include <libgen.h>
#include <limits.h>
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cmd_key.h"
#include "deck/deck.h"
#include "ranks/check.h"
#include "ranks/ranks.h"

enum { RANKS_MOST = 1000000 };

const cmd_option request_options[] = {
    { "--restart", "FILE_OR_DIR",
      "continue from a state file, or from the newest whole one in a directory (start at step 0 if it has "
      "none); time.steps may not be below its step; if equal, the run exits with 0 at once" },
    { "--restart-if-any", "FILE_OR_DIR",
      "the same, but start at step 0 if FILE_OR_DIR does not exist: for scripts of jobs that may be "
      "requeued" },
    { "--dry-run", NULL,
      "check the deck, ranks, device, restart and output paths; print the resolved deck and what the run "
      "would need: process grid, memory, bytes moved and sent, checkpoints; take no step" },
    { "--explain", NULL,
      "print each choice of the run (process grid, steps per pass, transport, form, feed, kernel), why it "
      "was made, and what would have to change for another; with --dry-run before any trial, and no step is "
      "taken" },
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
    char *text = ranks_mine(ranks_world()) == 0 ? find_deck(path, why) : NULL;
    int bytes = text ? (int)strlen(text) : -1;
    MPI_CHECK(ranks_bcast(&bytes, 1, MPI_INT, 0, ranks_world()));
    if (bytes < 0) {
        MPI_CHECK(ranks_bcast(why->text, SENTENCE_BYTES, MPI_CHAR, 0, ranks_world()));
        return false;
    }
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
    if (ok) config_ignored_keys(&q->cfg, &d, q->ignored, sizeof q->ignored);
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
