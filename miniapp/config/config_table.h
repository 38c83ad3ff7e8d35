/* The one table behind parsing, --help, the resolved deck and the comparison of two decks
 * (docs/contract.md, "Deck"): a row per key. Private to config*.c: config_table.c reads a value by itself,
 * config.c holds the values against each other, config_text.c writes them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/cmd_key.h"
#include "config/config.h"

/* Kinds of key that config_table.c reads itself. */
enum {
    CONFIG_PATH = CMD_KEY_OWN, /* char[4096]; "none" is the empty string where optional */
    CONFIG_SIDE,               /* a boundary_side */
    CONFIG_INITIAL,            /* problem.initial with problem.file and problem.dataset */
    CONFIG_SIDES,              /* grid.boundary: all four sides at once; from here on in no record */
    CONFIG_WEIGHTS             /* problem.weights; the count is checked in config.c */
};

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

extern const cmd_key config_table[];
extern const size_t config_table_count;

const cmd_key *config_table_find(const char *key);
const char *config_table_near(const char *key); /* the key that a slip may have meant, or NULL */
bool config_uses(const config *c, config_use what); /* config.c */
/* Reads one value into the config. False: not allowed (why empty: say what is; else a reason of its own). */
bool config_table_read(config *c, const cmd_key *row, const char *text, sentence *why);
