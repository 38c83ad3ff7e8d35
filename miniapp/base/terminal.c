#include "base/terminal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/check.h"

void terminal_wrap(FILE *to, const char *text, int indent)
{
    const char *const mark = *text == '#' ? "#" : ""; /* a comment of a deck stays one */
    int used = 0;                                     /* columns of the line */
    while (*text) {
        int blanks = (int)strspn(text, " "), word = (int)strcspn(text + blanks, " \n");
        if (used > 0 && used + blanks + word > TERMINAL_COLUMNS) {
            fprintf(to, "\n%-*s", indent, mark);
            used = indent;
            text += blanks;
            blanks = 0;
        }
        fprintf(to, "%.*s", blanks + word, text);
        used += blanks + word;
        text += blanks + word;
        if (*text == ' ') continue;
        fputc('\n', to);
        used = 0;
        text += *text == '\n';
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
