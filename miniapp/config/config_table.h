/* The one table behind parsing, --help and the resolved deck (docs/contract.md, "Deck"): a row per key.
 * Private to config*.c: config_table.c reads a value by itself, config.c holds the values against each other,
 * config_text.c writes them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"

typedef enum config_type {
    CONFIG_TYPE_INT64,
    CONFIG_TYPE_INT,
    CONFIG_TYPE_NUMBER,  /* a finite double */
    CONFIG_TYPE_CHOICE,  /* an enum; choices in the enum's order */
    CONFIG_TYPE_BOOL,
    CONFIG_TYPE_PATH,    /* char[4096]; "none" is the empty string where optional */
    CONFIG_TYPE_SIDE,    /* a boundary_side */
    CONFIG_TYPE_SIDES,   /* grid.boundary: all four sides at once */
    CONFIG_TYPE_INITIAL, /* problem.initial with problem.file and problem.dataset */
    CONFIG_TYPE_WEIGHTS, /* problem.weights; the count is checked in config.c */
    CONFIG_TYPE_FACTORS  /* problem.factors, likewise */
} config_type;

typedef struct config_row {
    const char *key;   /* section.name */
    config_type type;
    const char *unit;
    const char *preset; /* as in a deck; NULL: none */
    const char *preset_text; /* what --help says of it, NULL: the preset itself */
    int64_t low, high;  /* integers, and numbers where they differ: what is allowed; choices: the value of
                         * the first in low */
    const char *allowed; /* for the sentence and --help; NULL: low .. high */
    const char *const *choices;
    const char *help;
    size_t offset;
} config_row;

extern const config_row config_table[];
extern const size_t config_table_count;

const config_row *config_table_find(const char *key);
const char *config_table_nearest(const char *key); /* the key that a slip may have meant */
/* What is allowed, as in "one of a b c" or "0 .. 16". */
void config_table_allowed(const config_row *row, char *to, size_t to_bytes);
/* Reads one value into the config. False: not allowed (why empty: say what is; else a reason of its own). */
bool config_table_read(config *c, const config_row *row, const char *text, sentence *why);
