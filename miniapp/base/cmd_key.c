#include "base/cmd_key.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cmd.h"
#include "base/terminal.h"
#include "deck/deck.h"

bool cmd_key_number(const char *text, double *to)
{
    char *end;
    if (!*text || strspn(text, "+-.0123456789eE") != strlen(text)) return false;
    *to = strtod(text, &end);
    return *end == '\0' && isfinite(*to);
}

int cmd_key_word(const char *const *word, const char *text)
{
    for (int i = 0; word[i]; i++)
        if (strcmp(word[i], text) == 0) return i;
    return -1;
}

/* "8h", "30m", "90s", "90". */
static bool read_seconds(const char *text, double *to)
{
    char *end;
    const double number = strtod(text, &end), unit = *end == 'h' ? 3600 : *end == 'm' ? 60 : 1;
    *to = number * unit;
    return end != text && (!*end || (strchr("hms", *end) && !end[1]));
}

bool cmd_key_read(const cmd_key *k, void *to, const char *text, sentence *why)
{
    void *const at = (char *)to + k->at;
    int64_t whole = 0;
    double number = 0;
    why->text[0] = '\0';
    switch (k->kind) {
    case CMD_KEY_WORD:
        *(int *)at = cmd_key_word(k->word, text) + (int)k->least;
        return cmd_key_word(k->word, text) >= 0;
    case CMD_KEY_WHOLE:
    case CMD_KEY_INT:
        if (!deck_whole(text, &whole) || (double)whole < k->least || (double)whole > k->most) return false;
        if (k->kind == CMD_KEY_INT) *(int *)at = (int)whole;
        else *(int64_t *)at = whole;
        return true;
    case CMD_KEY_NUMBER:
    case CMD_KEY_SECONDS:
        if (k->kind == CMD_KEY_NUMBER ? !cmd_key_number(text, &number) : !read_seconds(text, &number))
            return false;
        *(double *)at = number;
        return k->least == k->most || (number >= k->least && number <= k->most);
    case CMD_KEY_FOLDER:
        *(const char **)at = text;
        return access(text, W_OK | X_OK) == 0 || sentence_refuse(why, "%s", strerror(errno));
    default: *(const char **)at = strcmp(text, "none") == 0 ? "" : text; return true;
    }
}

const char *cmd_key_allowed(const cmd_key *k, char to[CMD_KEY_ALLOWED_BYTES])
{
    size_t used = 0;
    if (k->allowed) return k->allowed;
    if (k->kind == CMD_KEY_FOLDER) return "a folder in which files can be made";
    if (k->kind == CMD_KEY_SECONDS)
        snprintf(to, CMD_KEY_ALLOWED_BYTES, "%g s to %g days, as in 8h, 30m or 90s", k->least,
                 k->most / (24 * 3600));
    else snprintf(to, CMD_KEY_ALLOWED_BYTES, "whole numbers %.0f .. %.0f", k->least, k->most);
    for (int i = 0; k->word && k->word[i] && used < CMD_KEY_ALLOWED_BYTES; i++)
        used += (size_t)snprintf(to + used, CMD_KEY_ALLOWED_BYTES - used, "%s%s", i ? ", " : "", k->word[i]);
    return to;
}

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
    char allowed[CMD_KEY_ALLOWED_BYTES];
    sentence reason;
    if (!k) {
        const int length = (int)(text - 1 - typed);
        sentence_set(why, "unknown key '%.*s'; allowed: ", length < 200 ? length : 200, typed);
        for (int i = 0; i < count; i++) sentence_add(why, "%s%s", i ? ", " : "", keys[i].key);
        return false;
    }
    if (cmd_key_read(k, to, text, &reason)) return true;
    return sentence_refuse(why, "%s = %.900s%s%s; allowed: %s", k->key, text, reason.text[0] ? ": " : "",
                           reason.text, cmd_key_allowed(k, allowed));
}

void cmd_key_print(void *file, const cmd_key *keys, int count, int width)
{
    bool whole = false;
    for (const cmd_key *k = keys; k < keys + count; k++) {
        const char *const preset = k->preset_text ? k->preset_text : k->preset;
        char allowed[CMD_KEY_ALLOWED_BYTES];
        whole = whole || k->kind == CMD_KEY_WHOLE || k->kind == CMD_KEY_INT;
        if (preset)
            terminal_say(file, width + 5, "  %-*s %s%s%s (%s)", width, k->key, cmd_key_allowed(k, allowed),
                         k->unit ? ", " : "", k->unit ? k->unit : "", preset);
        if (k->help)
            terminal_say(file, width + (preset ? 5 : 3), "  %-*s %s%s", width, preset ? "" : k->key,
                         preset ? "  " : "", k->help);
    }
    if (whole)
        terminal_wrap(file,
                      "  A whole number may end in k, M or G, units of 1024, or in an exponent: 4k is 4096, "
                      "1e3 is 1000.\n",
                      2);
}
