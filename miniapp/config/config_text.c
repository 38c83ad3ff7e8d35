/* The resolved deck, as text and in records. Invariant: what is written here reads
 * back to the same config; a number has as many digits as it takes to read back the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/terminal.h"
#include "config/config.h"
#include "output/record.h"

static void write_number(FILE *to, double x)
{
    char text[40];
    int digits = 15;
    do snprintf(text, sizeof text, "%.*g", digits, x);
    while (strtod(text, NULL) != x && ++digits <= 17);
    fputs(text, to);
}

/* Rows of 2r+1 numbers, each on its line; in 1D there is one. */
static void write_weights(FILE *to, const config *c)
{
    for (int i = 0; i < c->problem.weights_count; i++) {
        if (i > 0) fputs(i % (2 * c->problem.radius + 1) == 0 ? " |\n    " : " ", to);
        write_number(to, c->problem.weights[i]);
    }
}

static void write_side(FILE *to, const boundary_side *s)
{
    fputs(config_sides[s->kind - BOUNDARY_PERIODIC], to);
    if (s->kind != BOUNDARY_DIRICHLET) return;
    fputc(' ', to);
    write_number(to, s->value);
}

static void write_value(FILE *to, const config *c, const cmd_key *row)
{
    const void *const from = (const char *)c + row->at;
    const char *const path = from;
    switch (row->kind) {
    case CMD_KEY_WHOLE: fprintf(to, "%lld", (long long)*(const int64_t *)from); break;
    case CMD_KEY_INT: fprintf(to, "%d", *(const int *)from); break;
    case CMD_KEY_NUMBER: write_number(to, *(const double *)from); break;
    case CMD_KEY_WORD: fputs(row->word[*(const int *)from - (int)row->least], to); break;
    case CONFIG_PATH: fputs(path[0] ? path : "none", to); break;
    case CONFIG_SIDE: write_side(to, from); break;
    case CONFIG_INITIAL:
        if (c->problem.initial == CONFIG_INITIAL_FILE)
            fprintf(to, "%s:%s", c->problem.file, c->problem.dataset);
        else fputs(config_initial_name(c->problem.initial), to);
        break;
    case CONFIG_WEIGHTS: write_weights(to, c); break;
    default: break; /* grid.boundary: its sides are written */
    }
}

/* The value as a deck has it, "" for none; the caller frees. */
static char *value_of(const config *c, const cmd_key *row)
{
    terminal_text text;
    write_value(terminal_text_begin(&text), c, row);
    return terminal_text_take(&text);
}

char *config_to_text(const config *c)
{
    terminal_text text;
    size_t section_bytes = 0;
    const char *section = "";
    FILE *const to = terminal_text_begin(&text);
    for (size_t i = 0; i < config_table_count; i++) {
        const cmd_key *row = &config_table[i];
        const size_t dot = strcspn(row->key, ".");
        if (dot != section_bytes || strncmp(section, row->key, dot) != 0)
            fprintf(to, "%s[%.*s]\n", i ? "\n" : "", (int)dot, row->key);
        section = row->key;
        section_bytes = dot;
        char *const written = value_of(c, row);
        if (written[0]) fprintf(to, "%s = %s\n", row->key + dot + 1, written);
        free(written);
    }
    return terminal_text_take(&text);
}

json_t *config_add_json(json_t *o, const config *c, const char *prefix)
{
    for (size_t i = 0; i < config_table_count; i++) {
        const cmd_key *const row = &config_table[i];
        const bool real = row->kind == CMD_KEY_NUMBER, whole = row->kind == CMD_KEY_WHOLE;
        if (strncmp(row->key, prefix, strlen(prefix)) != 0 || row->kind >= CONFIG_SIDES) continue;
        char *const text = value_of(c, row);
        json_t *const v = real || whole || row->kind == CMD_KEY_INT
                              ? json_loads(text, JSON_DECODE_ANY | (real ? JSON_DECODE_INT_AS_REAL : 0), NULL)
                              : record_text(text);
        json_object_set_new(o, strchr(row->key, '.') + 1, v);
        free(text);
    }
    return o;
}

const char *config_first_difference(const config *a, const config *b)
{
    const char *differs = NULL;
    for (size_t i = 0; i < config_table_count && !differs; i++) {
        const char *const key = config_table[i].key;
        if (strncmp(key, "problem.", strlen("problem.")) != 0 && strncmp(key, "grid.", strlen("grid.")) != 0)
            continue;
        char *const of_a = value_of(a, &config_table[i]), *const of_b = value_of(b, &config_table[i]);
        if (strcmp(of_a, of_b) != 0) differs = key;
        free(of_a);
        free(of_b);
    }
    return differs;
}

/* A value that is the default is no request: a resolved deck has every key. */
void config_ignored_keys(const config *c, const deck *d, sentence *keys)
{
    keys->text[0] = '\0';
    for (size_t i = 0; i < config_table_count; i++) {
        const cmd_key *const row = &config_table[i];
        const deck_entry *const e = deck_find(d, row->key);
        if (!e || config_uses(c, row->use)) continue;
        char *const resolved = value_of(c, row);
        if (strcmp(e->value, row->preset ? row->preset : resolved) != 0)
            sentence_add(keys, "%s%s", keys->text[0] ? ", " : "", row->key);
        free(resolved);
    }
}
