/* Text for people: lines of a given width. */
#pragma once

#include <stdio.h>

enum { TERMINAL_COLUMNS = 99 }; /* the widest line */

/* Lines longer than that go on below, `indent` columns in, broken at a space; a word that is longer stays
 * whole. */
void terminal_wrap(FILE *to, const char *text, int indent);
/* The same of a text that is printed with that format. */
__attribute__((format(printf, 3, 4))) void terminal_say(FILE *to, int indent, const char *format, ...);

/* A text that is written to what _begin returns. _take ends it and returns it, the caller's to free; _end
 * prints it to stdout, wrapped, and flushes. */
typedef struct terminal_text {
    FILE *to;
    char *text;
    size_t bytes;
} terminal_text;
FILE *terminal_text_begin(terminal_text *t);
char *terminal_text_take(terminal_text *t);
void terminal_text_end(terminal_text *t, int indent);
