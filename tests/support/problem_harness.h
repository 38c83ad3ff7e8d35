/* For the tests of miniapp: a config from the text of a deck, which must be accepted. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "support/unit.h"

static inline void harness_config(config *c, const char *format, ...)
{
    static char text[1 << 16];
    sentence why = { "" };
    deck d = { 0 };
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!deck_read_text(&d, text, "deck", &why) || !config_from_deck(c, &d, &why))
        fail_msg("refused: %s\n%s", why.text, text);
    deck_free(&d);
}
