/* Keys with values, of decks and of command lines: a table has a row per key, with the member of a struct
 * that it sets. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/sentence.h"

typedef enum cmd_key_kind {
    CMD_KEY_WORD,    /* int: the place of the value among `word`, counted from `least` */
    CMD_KEY_WHOLE,   /* int64_t from least to most, as in 64, 4k (4096) or 1e6 */
    CMD_KEY_INT,     /* the same, of an int */
    CMD_KEY_NUMBER,  /* a finite double; from least to most, where the two differ */
    CMD_KEY_SECONDS, /* double from least to most, as in 8h, 30m or 90s */
    CMD_KEY_FOLDER,  /* const char *: a folder in which files can be made */
    CMD_KEY_OUTPUT,  /* const char *: a file or text, "" where the value is none */
    CMD_KEY_OWN      /* from here on kinds that the owner of the table reads */
} cmd_key_kind;

typedef struct cmd_key {
    const char *key;
    int kind;  /* cmd_key_kind */
    size_t at; /* offsetof in the struct that is set */
    const char *help;
    const char *const *word; /* NULL ends them */
    double least, most;
    const char *allowed;     /* for sentences; NULL: the words, or least and most say it */
    const char *preset;      /* the value where none is given, as in a deck; NULL: --help has it in `help` */
    const char *preset_text; /* what --help says of it; NULL: the preset itself */
    /* of a deck's key alone */
    int use;            /* CONFIG_USE_..: what the key needs to mean something */
    const char *unused; /* its value where it means nothing; NULL: the preset */
    const char *unit;
} cmd_key;

/* Reads one value into the struct; texts are not copied. False: it is not allowed; why: what is wrong with
 * it, or "". */
bool cmd_key_read(const cmd_key *k, void *to, const char *text, sentence *why);
/* A finite decimal, no inf, nan, hexadecimal. */
bool cmd_key_number(const char *text, double *to);
/* The place of the text among the words; -1: it is none of them. */
int cmd_key_word(const char *const *word, const char *text);
/* The allowed values, as in "auto, host, cuda" or "whole numbers 0 .. 16". */
enum { CMD_KEY_ALLOWED_BYTES = 256 };
const char *cmd_key_allowed(const cmd_key *k, char to[CMD_KEY_ALLOWED_BYTES]);

/* Sets what "key=value" says. False with one sentence in why. */
bool cmd_key_set(const cmd_key *keys, int count, void *to, const char *typed, sentence *why);
/* The key that is typed before the '='; NULL: there is none. */
const cmd_key *cmd_key_find(const cmd_key *keys, int count, const char *typed);
/* Their help, in columns; of those with a preset also what is allowed. file: a FILE * */
void cmd_key_print(void *file, const cmd_key *keys, int count, int width);
