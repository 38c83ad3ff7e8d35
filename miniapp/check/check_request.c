#include "check/check_request.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/terminal.h"
#include "deck/deck.h"

const char *const check_level_words[] = { "quick", "full", "soak", NULL };
/* in the order of topology_choice */
static const char *const device_words[] = { "auto", "host", "cuda", NULL };

static const double budget_of_level_s[] = { [CHECK_QUICK] = 5, [CHECK_FULL] = 20, [CHECK_SOAK] = 20 };
static const double hour_s = 3600, longest_s = 30 * 24 * 3600.0;

/* ---- values ---- */

static bool set_word(const char *key, const char *text, const char *const *word, int *out, sentence *why)
{
    for (*out = 0; word[*out]; ++*out)
        if (strcmp(text, word[*out]) == 0) return true;
    sentence_set(why, "%s = %.200s; allowed: ", key, text);
    for (int i = 0; word[i]; i++) sentence_add(why, "%s%s", i > 0 ? ", " : "", word[i]);
    return false;
}

/* "8h", "30m", "90s", "90". */
static bool set_seconds(const char *key, const char *text, double least, double *out, sentence *why)
{
    char *end;
    double number = strtod(text, &end);
    const double unit = *end == 'h' ? hour_s : *end == 'm' ? 60 : 1;
    if (end != text && *end && strchr("hms", *end)) end++;
    number *= unit;
    if (end == text || *end || !(number >= least) || number > longest_s)
        return sentence_refuse(why, "%s = %.200s; allowed: %g s to 30 days, as in 8h, 30m or 90s", key, text,
                               least);
    *out = number;
    return true;
}

static bool set_level(check_request *q, const char *text, sentence *why)
{
    return set_word("level", text, check_level_words, (int *)&q->level, why);
}

static bool set_time(check_request *q, const char *text, sentence *why)
{
    return set_seconds("time", text, 1, &q->time_s, why);
}

static bool set_budget(check_request *q, const char *text, sentence *why)
{
    return set_seconds("budget", text, 0.01, &q->budget_s, why);
}

static bool set_stall_limit(check_request *q, const char *text, sentence *why)
{
    return set_seconds("stall_limit", text, 0, &q->stall_limit_s, why);
}

static bool set_device(check_request *q, const char *text, sentence *why)
{
    return set_word("device", text, device_words, (int *)&q->kind, why);
}

static bool set_threads(check_request *q, const char *text, sentence *why)
{
    int64_t number;
    if (!deck_whole(text, &number) || number < 0 || number > 4096)
        return sentence_refuse(why, "threads = %.200s; allowed: a whole number from 0 to 4096", text);
    q->threads = (int)number;
    return true;
}

static bool set_dir(check_request *q, const char *text, sentence *why)
{
    q->dir = text;
    if (access(text, W_OK | X_OK) == 0) return true;
    return sentence_refuse(why, "dir = %.900s: %s; allowed: a folder in which files can be made", text,
                           strerror(errno));
}

static const char *path_or_none(const char *text) { return strcmp(text, "none") == 0 ? "" : text; }

static bool set_output(check_request *q, const char *text, sentence *why)
{
    q->output = path_or_none(text);
    return true;
}

static bool set_report(check_request *q, const char *text, sentence *why)
{
    return sentence_refuse(why, "report = %.200s: jobs/judge check.jsonl --page FILE.html makes the page",
                           text);
}

static bool set_reference(check_request *q, const char *text, sentence *why)
{
    q->reference = text;
    return true;
}

/* ---- keys ---- */

static const struct {
    const char *key;
    bool (*set)(check_request *q, const char *text, sentence *why);
    const char *help;
} keys[] = {
    { "level", set_level,
      "quick (30 s) | full (3 minutes) | soak: rounds of full until time is over, or a signal (quick)" },
    { "time", set_time, "of a soak: 8h, 30m or 90s (8h)" },
    { "device", set_device,
      "auto | host | cuda; auto: GPUs, else the host, but exit 3 where there are GPUs that cannot be used" },
    { "dir", set_dir, "folder in which the file system is tried; nothing is left there (.)" },
    { "output", set_output, "file to which a record is appended for each round, or none (check.jsonl)" },
    { "report", set_report, "gone: jobs/judge check.jsonl --page FILE.html makes the page" },
    { "reference", set_reference,
      "rates to compare with: a file of jobs/check_reference, or none (that of this GPU, where there is one "
      "and budget is 5 or more)" },
    { "threads", set_threads, "threads of the host device per rank (0: its share of the cores)" },
    { "budget", set_budget,
      "seconds of a round (5 in quick, else 20); below 5 all sizes are small, and rates mean little" },
    { "stall_limit", set_stall_limit,
      "without progress for this time each rank says in which trial it is, and the check ends; "
      "0: never (5m)" },
};
enum { KEYS = sizeof keys / sizeof keys[0] };

void check_request_print_keys(void *file)
{
    for (int i = 0; i < KEYS; i++) terminal_key(file, keys[i].key, 11, keys[i].help);
}

static bool set_key(check_request *q, const char *typed, sentence *why)
{
    const char *known[KEYS];
    char key[64];
    const size_t length = strcspn(typed, "=");
    snprintf(key, sizeof key, "%.*s", (int)length, typed);
    for (int i = 0; i < KEYS; i++) {
        known[i] = keys[i].key;
        if (typed[length] == '=' && strcmp(key, keys[i].key) == 0)
            return keys[i].set(q, typed + length + 1, why);
    }
    const char *const nearest = deck_nearest(key, known, KEYS);
    if (typed[length] == '=') return sentence_refuse(why, "unknown key %s; the nearest is %s", key, nearest);
    return sentence_refuse(
        why,
        "unknown word '%.200s'; allowed: fs, or key=value with one of the keys of `weft check --help`",
        typed);
}

bool check_request_make(check_request *q, int argc, char **argv, sentence *why)
{
    bool ok = true;
    *q = (check_request){ .time_s = 8 * hour_s,
                          .budget_s = NAN,
                          .stall_limit_s = 300,
                          .dir = ".",
                          .output = "check.jsonl" };
    for (int i = 1; i < argc && ok; i++) ok = set_key(q, argv[i], why);
    if (isnan(q->budget_s)) q->budget_s = budget_of_level_s[q->level];
    return ok;
}
