#include "base/cmd_key.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cmd.h"
#include "base/terminal.h"
#include "deck/deck.h"

static bool set_word(const cmd_key *k, const char *text, int *out, sentence *why)
{
    for (*out = 0; k->word[*out]; ++*out)
        if (strcmp(text, k->word[*out]) == 0) return true;
    sentence_set(why, "%s = %.200s; allowed: ", k->key, text);
    for (int i = 0; k->word[i]; i++) sentence_add(why, "%s%s", i > 0 ? ", " : "", k->word[i]);
    return false;
}

static bool set_whole(const cmd_key *k, const char *text, int64_t *out, sentence *why)
{
    if (deck_whole(text, out) && (double)*out >= k->least && (double)*out <= k->most) return true;
    return sentence_refuse(
        why, "%s = %.200s; allowed: a whole number from %.0f to %.0f, as in 64, 4k (4096) or 1e6", k->key,
        text, k->least, k->most);
}

/* "8h", "30m", "90s", "90". */
static bool set_seconds(const cmd_key *k, const char *text, double *out, sentence *why)
{
    char *end;
    const double number = strtod(text, &end), unit = *end == 'h' ? 3600 : *end == 'm' ? 60 : 1;
    const bool is_number = end != text && (!*end || (strchr("hms", *end) && !end[1]));
    *out = number * unit;
    if (is_number && *out >= k->least && *out <= k->most) return true;
    return sentence_refuse(why, "%s = %.200s; allowed: %g s to %g days, as in 8h, 30m or 90s", k->key, text,
                           k->least, k->most / (24 * 3600));
}

static bool set_folder(const cmd_key *k, const char *text, const char **out, sentence *why)
{
    *out = text;
    if (access(text, W_OK | X_OK) == 0) return true;
    return sentence_refuse(why, "%s = %.900s: %s; allowed: a folder in which files can be made", k->key, text,
                           strerror(errno));
}

enum { CMD_KEYS_MAX = 16 };

const cmd_key *cmd_key_find(const cmd_key *keys, int count, const char *typed)
{
    const size_t length = strcspn(typed, "=");
    for (int i = 0; i < count; i++)
        if (strlen(keys[i].key) == length && strncmp(typed, keys[i].key, length) == 0) return &keys[i];
    return NULL;
}

bool cmd_key_set(const cmd_key *keys, int count, void *to, const char *typed, sentence *why)
{
    const cmd_key *const k = cmd_key_find(keys, count, typed);
    const char *const text = strchr(typed, '=') + 1;
    if (!k) {
        const char *known[CMD_KEYS_MAX];
        char *const key = strndup(typed, (size_t)(text - 1 - typed));
        assert(count <= CMD_KEYS_MAX);
        for (int i = 0; i < count; i++) known[i] = keys[i].key;
        cmd_unknown("key", key, known, count, why);
        free(key);
        return false;
    }
    void *const at = (char *)to + k->at;
    int64_t whole = 0;
    switch (k->kind) {
    case CMD_KEY_WORD: return set_word(k, text, at, why);
    case CMD_KEY_WHOLE: return set_whole(k, text, at, why);
    case CMD_KEY_INT:
        if (!set_whole(k, text, &whole, why)) return false;
        *(int *)at = (int)whole;
        return true;
    case CMD_KEY_SECONDS: return set_seconds(k, text, at, why);
    case CMD_KEY_FOLDER: return set_folder(k, text, at, why);
    case CMD_KEY_TEXT: *(const char **)at = text; return true;
    case CMD_KEY_OUTPUT: *(const char **)at = strcmp(text, "none") == 0 ? "" : text; return true;
    }
    return false;
}

void cmd_key_print(void *file, const cmd_key *keys, int count, int width)
{
    for (int i = 0; i < count; i++)
        terminal_say(file, width + 3, "  %-*s %s", width, keys[i].key, keys[i].help);
}
