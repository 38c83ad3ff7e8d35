/* The input file and the command line's overrides as a list of section.key = value with the place each came
 * from. Knows no physics: which keys exist and what they mean is the caller's (miniapp/config). The syntax is
 * in docs/contract.md, "Deck". */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/sentence.h"

typedef struct deck_entry {
    char *key;   /* "section.key" */
    char *value; /* trimmed */
    char *where; /* "inputs/heat2d.ini:7" or "command line" */
} deck_entry;

typedef struct deck {
    deck_entry *entry;
    size_t count;
} deck;

/* All return false with one sentence in why. Start from a zeroed deck. A key twice in one file is refused. */
bool deck_read_text(deck *d, const char *text, const char *name, sentence *why);
/* The whole of a deck's file, which the caller frees; NULL with one sentence in why. One rank may read it for
 * all. */
char *deck_file_text(const char *path, sentence *why);
/* "section.key=value" from the command line; replaces what is there. */
bool deck_set(deck *d, const char *assignment, sentence *why);

/* A whole number as decks and command lines have it: 64, -3, 4k (4096; k M G, in units of 1024, large or
 * small) or 1e6. */
bool deck_whole(const char *text, int64_t *to);

void deck_remove(deck *d, const char *key);                  /* if it is there */
const deck_entry *deck_find(const deck *d, const char *key); /* NULL: not given */
void deck_free(deck *d);

/* The entry of `known` that key is but for one edit or its section, for "unknown key X, did you mean Y"; else
 * NULL. */
const char *deck_near(const char *key, const char *const *known, size_t known_count);
