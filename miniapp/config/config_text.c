/* The resolved deck and --help's list of keys.
 * Invariant: what is written here reads back to the same config, and no line reaches libinih's 200 bytes. A
 * number has as many digits as it takes to read back the same. A long value goes on in indented lines, which
 * a deck joins with a space; inside a path the line ends in a backslash, and backslash and space are read as
 * nothing; so they may stand in front of the next line too, where that would look like something else. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/terminal.h"
#include "config/config.h"
#include "config/config_table.h"
#include "ranks/check.h"

enum { CHUNK_BYTES = 150, WEIGHTS_A_LINE = 6 };

/* A continued line must not look like a comment or like a key of its own ("word ="), or end in white space.
 * */
static bool may_break(const char *text, size_t at)
{
    const char *next = text + at;
    return !deck_like_assignment(next) && !strchr(" \t#;[\\", next[0]) && !isspace((unsigned char)next[-1]) &&
           next[-1] != '\\';
}

/* Before a semicolon there is no break in any way; config_table.c takes no path with many in a row. */
static void write_path(FILE *to, const char *path)
{
    while (strlen(path) > CHUNK_BYTES) {
        size_t cut = CHUNK_BYTES;
        while (cut > CHUNK_BYTES / 2 && !may_break(path, cut)) cut--;
        const bool plain = may_break(path, cut);
        for (cut = plain ? cut : CHUNK_BYTES; path[cut] == ';'; cut--) continue;
        fprintf(to, "%.*s\\\n    %s", (int)cut, path, plain ? "" : "\\ ");
        path += cut;
    }
    fprintf(to, "%s\n", path);
}

static void write_number(FILE *to, double x)
{
    char text[40];
    int digits = 15;
    do snprintf(text, sizeof text, "%.*g", digits, x);
    while (strtod(text, NULL) != x && ++digits <= 17);
    fputs(text, to);
}

/* Rows of 2r+1 numbers; in 1D they are one. */
static void write_rows(FILE *to, const config *c, const double *numbers, int count)
{
    const int row = 2 * c->problem.radius + 1;
    for (int i = 0; i < count; i++) {
        if (i > 0 && i % row == 0) fputs(" |\n    ", to);
        else if (i > 0) fputs(i % row % WEIGHTS_A_LINE == 0 ? "\n    " : " ", to);
        write_number(to, numbers[i]);
    }
    fputc('\n', to);
}

static void write_side(FILE *to, const boundary_side *s)
{
    if (s->kind == BOUNDARY_DIRICHLET) {
        fputs("dirichlet ", to);
        write_number(to, s->value);
        fputc('\n', to);
    } else {
        fputs(s->kind == BOUNDARY_NEUMANN ? "neumann\n" : "periodic\n", to);
    }
}

static void write_initial(FILE *to, const config *c)
{
    char text[sizeof c->problem.file + sizeof c->problem.dataset];
    if (c->problem.initial == CONFIG_INITIAL_FILE) {
        snprintf(text, sizeof text, "%s:%s", c->problem.file, c->problem.dataset);
        write_path(to, text);
    } else {
        fprintf(to, "%s\n", config_initial_name(c->problem.initial));
    }
}

static void write_value(FILE *to, const config *c, const config_row *row)
{
    const char *from = (const char *)c + row->offset;
    switch (row->type) {
    case CONFIG_TYPE_INT64: fprintf(to, "%lld\n", (long long)*(const int64_t *)(const void *)from); break;
    case CONFIG_TYPE_INT: fprintf(to, "%d\n", *(const int *)(const void *)from); break;
    case CONFIG_TYPE_NUMBER:
        write_number(to, *(const double *)(const void *)from);
        fputc('\n', to);
        break;
    case CONFIG_TYPE_CHOICE: {
        int choice;
        memcpy(&choice, from, sizeof choice);
        fprintf(to, "%s\n", row->choices[choice - row->low]);
        break;
    }
    case CONFIG_TYPE_BOOL: fputs(*(const bool *)(const void *)from ? "true\n" : "false\n", to); break;
    case CONFIG_TYPE_PATH:
        if (from[0]) write_path(to, from);
        else fputs("none\n", to);
        break;
    case CONFIG_TYPE_SIDE: write_side(to, (const boundary_side *)(const void *)from); break;
    case CONFIG_TYPE_INITIAL: write_initial(to, c); break;
    case CONFIG_TYPE_WEIGHTS: write_rows(to, c, c->problem.weights, c->problem.weights_count); break;
    case CONFIG_TYPE_FACTORS: write_rows(to, c, c->problem.factors, c->problem.factors_count); break;
    case CONFIG_TYPE_SIDES: break;
    }
}

char *config_to_text(const config *c)
{
    char *text = NULL;
    size_t bytes = 0, section_bytes = 0;
    const char *section = "";
    FILE *const to = CHECK_ALLOC(open_memstream(&text, &bytes));
    for (size_t i = 0; i < config_table_count; i++) {
        const config_row *row = &config_table[i];
        const size_t dot = (size_t)(strchr(row->key, '.') - row->key);
        if (dot != section_bytes || strncmp(section, row->key, dot) != 0) {
            fprintf(to, "%s[%.*s]\n", i ? "\n" : "", (int)dot, row->key);
            section = row->key;
            section_bytes = dot;
        }
        const bool empty = row->type == CONFIG_TYPE_SIDES ||
                           (row->type == CONFIG_TYPE_WEIGHTS && c->problem.weights_count == 0) ||
                           (row->type == CONFIG_TYPE_FACTORS && c->problem.factors_count == 0);
        if (empty) continue;
        fprintf(to, "%s = ", row->key + dot + 1);
        write_value(to, c, row);
    }
    if (fclose(to) != 0) check_fail(__FILE__, __LINE__, "fclose", "out of memory");
    return text;
}

void config_print_keys(void *file)
{
    for (size_t i = 0; i < config_table_count; i++) {
        const config_row *row = &config_table[i];
        char allowed[256], text[1024];
        config_table_allowed(row, allowed, sizeof allowed);
        snprintf(text, sizeof text, "  %-18s %s%s%s (%s)", row->key, allowed, row->unit[0] ? ", " : "",
                 row->unit, row->preset_text ? row->preset_text : row->preset);
        terminal_wrap(file, text, 23);
        snprintf(text, sizeof text, "  %-18s   %s", "", row->help);
        if (row->help[0]) terminal_wrap(file, text, 23);
    }
    terminal_wrap(
        file,
        "  A whole number may end in k, M or G, units of 1024, or in an exponent: 4k is 4096, 1e3 is 1000.",
        2);
    terminal_wrap(file,
                  "  A long value goes on in indented lines, joined by a space, or by nothing where a path's "
                  "line ends in a backslash.",
                  2);
}

void config_print_choices(void *file)
{
    for (size_t i = 0; i < config_table_count; i++) {
        const config_row *row = &config_table[i];
        const bool side = row->type == CONFIG_TYPE_SIDE || row->type == CONFIG_TYPE_SIDES;
        if (!row->choices && !side && row->type != CONFIG_TYPE_BOOL) continue;
        fprintf(file, "    %s) echo", row->key);
        for (int k = 0; row->choices && row->choices[k]; k++) fprintf(file, " %s", row->choices[k]);
        fprintf(file, "%s ;;\n",
                side                            ? " periodic dirichlet neumann"
                : row->type == CONFIG_TYPE_BOOL ? " true false"
                                                : "");
    }
}
