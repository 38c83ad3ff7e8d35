/* key=value words of a command line: a table of keys, each with the member of a struct that it sets. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/sentence.h"

typedef enum cmd_key_kind {
    CMD_KEY_WORD,    /* int: the place of the value among `word` */
    CMD_KEY_WHOLE,   /* int64_t from least to most, as in 64, 4k (4096) or 1e6 */
    CMD_KEY_INT,     /* the same, of an int */
    CMD_KEY_SECONDS, /* double from least to most, as in 8h, 30m or 90s */
    CMD_KEY_FOLDER,  /* const char *: a folder in which files can be made */
    CMD_KEY_TEXT,    /* const char * */
    CMD_KEY_OUTPUT   /* const char *: a file, "" where the value is none */
} cmd_key_kind;

typedef struct cmd_key {
    const char *key;
    cmd_key_kind kind;
    size_t at; /* offsetof in the struct that is set */
    const char *help;
    const char *const *word; /* NULL ends them */
    double least, most;
} cmd_key;

/* Sets what "key=value" says; texts are not copied. False with one sentence in why. */
bool cmd_key_set(const cmd_key *keys, int count, void *to, const char *typed, sentence *why);
/* The key that is typed before the '='; NULL: there is none. */
const cmd_key *cmd_key_find(const cmd_key *keys, int count, const char *typed);
/* Their help, in columns. file: a FILE * */
void cmd_key_print(void *file, const cmd_key *keys, int count, int width);
