/* The one table behind parsing, --help, the completion, the resolved deck and the comparison of two decks
 * (docs/contract.md, "Deck"): a row per key. Private to config*.c: config_table.c reads a value by itself,
 * config.c holds the values against each other, config_text.c writes them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"

typedef enum config_type {
    CONFIG_TYPE_INT64,
    CONFIG_TYPE_INT,
    CONFIG_TYPE_NUMBER,  /* a finite double */
    CONFIG_TYPE_CHOICE,  /* an enum or an int; choices in the enum's order */
    CONFIG_TYPE_PATH,    /* char[4096]; "none" is the empty string where optional */
    CONFIG_TYPE_SIDE,    /* a boundary_side */
    CONFIG_TYPE_INITIAL, /* problem.initial with problem.file and problem.dataset */
    CONFIG_TYPE_SIDES,   /* grid.boundary: all four sides at once; from here on in no record */
    CONFIG_TYPE_WEIGHTS  /* problem.weights; the count is checked in config.c */
} config_type;

/* When a key means something. */
typedef enum config_use {
    CONFIG_USE_ALWAYS,
    CONFIG_USE_DIFFERENCES, /* kinds with an order and an alpha */
    CONFIG_USE_WEIGHTS,
    CONFIG_USE_MODE, /* initial = mode of a kind that has modes */
    CONFIG_USE_MODE_2D,
    CONFIG_USE_RANDOM,
    CONFIG_USE_STENCIL, /* kinds but transpose */
    CONFIG_USE_STENCIL_2D
} config_use;

typedef struct config_row {
    const char *key; /* section.name */
    config_type type;
    size_t offset;           /* where in a config the value is kept */
    const char *preset;      /* as in a deck; NULL: none */
    const char *preset_text; /* what --help says of it, NULL: the preset itself */
    config_use use;
    const char *unused;      /* its value where it means nothing; NULL: the preset, if it has one */
    const char *unit;        /* NULL: none */
    int64_t low, high;       /* whole numbers, and numbers where the two differ: what is allowed; choices: the
                              * value of the first in low */
    const char *const *choices;
    const char *allowed; /* for the sentence and --help; NULL: the choices, or low .. high */
    const char *help;    /* NULL: that of the row above serves */
} config_row;

extern const config_row config_table[];
extern const size_t config_table_count;

const config_row *config_table_find(const char *key);
const char *config_table_nearest(const char *key); /* the key that a slip may have meant */
/* The allowed values, as in "one of a b c" or "0 .. 16". */
void config_table_allowed(const config_row *row, char *to, size_t to_bytes);
bool config_uses(const config *c, config_use what); /* config.c */
/* Reads one value into the config. False: not allowed (why empty: say what is; else a reason of its own). */
bool config_table_read(config *c, const config_row *row, const char *text, sentence *why);
