/* A sentence for people: why a call failed or was refused, or a note. It has no line end, is empty if there
 * is nothing to say, and is cut if it is too long. The caller owns it; a function sets a given sentence only
 * in the cases that its own comment names. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SENTENCE_BYTES = 2200 }; /* two paths of up to 1000 bytes each, and what is wrong with them */

typedef struct sentence {
    char text[SENTENCE_BYTES];
} sentence;

__attribute__((format(printf, 2, 0))) static inline void sentence_set_list(sentence *s, const char *format,
                                                                           va_list args)
{
    vsnprintf(s->text, sizeof s->text, format, args);
}

/* No argument may point into s itself. */
__attribute__((format(printf, 2, 3))) static inline void sentence_set(sentence *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    sentence_set_list(s, format, args);
    va_end(args);
}

/* Sets the sentence and is that status, the answer of a function that fails; of one that refuses, false. */
#define sentence_fail(status, ...) (sentence_set(__VA_ARGS__), status)
#define sentence_refuse(...) sentence_fail(false, __VA_ARGS__)

/* Appends to the sentence. */
__attribute__((format(printf, 2, 3))) static inline void sentence_add(sentence *s, const char *format, ...)
{
    const size_t used = strlen(s->text);
    va_list args;
    va_start(args, format);
    vsnprintf(s->text + used, sizeof s->text - used, format, args);
    va_end(args);
}
