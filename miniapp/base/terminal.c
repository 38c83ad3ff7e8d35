#include "base/terminal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/check.h"

/* The place to break a line: the last space that fits, else the first one; `end`: it fits, or has none. */
static const char *break_of(const char *line, const char *end, int room)
{
    const char *const first = line + strspn(line, " "), *at = line + room;
    if (end - line <= room) return end;
    while (at > first && *at != ' ') at--;
    if (at <= first) at = first + strcspn(first, " \n");
    while (at > first && at[-1] == ' ') at--;
    return at;
}

void terminal_wrap(FILE *to, const char *text, int indent)
{
    const char *const mark = *text == '#' ? "#" : ""; /* a comment of a deck stays one */
    while (*text) {
        const char *const end = text + strcspn(text, "\n");
        int used = 0;
        do {
            const char *const stop = break_of(text, end, TERMINAL_COLUMNS - used);
            fprintf(to, "%-*s%.*s\n", used, used ? mark : "", (int)(stop - text), text);
            text = stop + (stop < end ? strspn(stop, " ") : 0);
            used = indent;
        } while (text < end);
        text = end + (*end == '\n');
    }
}

void terminal_say(FILE *to, int indent, const char *format, ...)
{
    terminal_text text;
    va_list args;
    va_start(args, format);
    vfprintf(terminal_text_begin(&text), format, args);
    va_end(args);
    terminal_wrap(to, terminal_text_take(&text), indent);
    free(text.text);
}

FILE *terminal_text_begin(terminal_text *t)
{
    return t->to = CHECK_ALLOC(open_memstream(&t->text, &t->bytes));
}

char *terminal_text_take(terminal_text *t)
{
    if (fclose(t->to) != 0) check_fail(__FILE__, __LINE__, "fclose", "out of memory");
    return t->text;
}

void terminal_text_end(terminal_text *t, int indent)
{
    terminal_wrap(stdout, terminal_text_take(t), indent);
    fflush(stdout);
    free(t->text);
}
