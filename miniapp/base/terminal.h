/* Text for people: lines of a given width, and colour on a terminal. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

enum { TERMINAL_COLUMNS = 99 }; /* the widest line */

/* Lines longer than that go on below, `indent` columns in, broken at a space; a word that is longer stays
 * whole. Colours take no room. */
void terminal_wrap(FILE *to, const char *text, int indent);
/* A row of help: a key or a name, in a column of that width, and what it means. */
void terminal_key(FILE *to, const char *key, int width, const char *help);

/* Lines on their way to stdout, to be wrapped: written to what _begin returns; _end prints and flushes them.
 * */
typedef struct terminal_text {
    FILE *to;
    char *text;
    size_t bytes;
} terminal_text;
FILE *terminal_text_begin(terminal_text *t);
void terminal_text_end(terminal_text *t, int indent);

/* Is stdout read by a person, and NO_COLOR unset or empty? */
bool terminal_has_colour(void);
