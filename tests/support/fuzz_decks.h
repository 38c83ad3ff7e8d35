/* Sound decks, the words that damage puts into them, and what must come of a damaged one that still means
 * something. */
#pragma once

#include "config/config.h"
#include "config/config_table.h"
#include "config/request.h"
#include "deck/deck.h"
#include "support/fuzz.h"

static const char *const sound_decks[] = {
    "# heat\n[problem]\nkind = heat\norder = 4\nalpha = 0.1 ; a comment\n[grid]\nnx = 64\nny = 32\n"
    "x_low = dirichlet 1.5\nx_high = neumann\n"
    "[time]\nsteps = 100\n[checkpoint]\nevery = 10\ndir = a/b\nkeep = 3\n",
    "[problem]\nkind = custom\ndtype = f32\nweights = .1 .2 .1 |\n  .2 .1 .2 |\n  .01 .02 .03\n"
    "initial = a.h5:/fields/v\n[grid]\nnx = 1000\nny = 7\n"
    "boundary = neumann\n[time]\nsteps=5\n[output]\nrecord = none\nfinal = x.h5\n",
    "[problem]\nkind=laplace\ninitial=random\nseed=-5\n[grid]\nnx=1099511627776\nboundary=dirichlet "
    "-1e300\n[time]\n"
    "steps=9999999999\n"
    "tolerance=1e-9\nnorm_every=7\n[run]\ndevice=host\nlanes=3\nwall_limit=3600\n",
    "[problem]\nkind=advect\nalpha=-0.3\nmode_x=3\norder=8\n[grid]\nnx=17\n[time]\nsteps=0\n[checkpoint]\n"
    "verify=off\non_error=continue\n",
};
static const char *deck_word[256];
static size_t deck_word_count;

static inline void gather_deck_words(void)
{
    static const char *const more[] = {
        "[problem]",
        "[grid]",
        "\n[time]\n",
        "[run]",
        "]",
        "[",
        "=",
        " = ",
        "\n",
        "\n ",
        ";",
        " ;",
        "#",
        "|",
        "\r\n",
        "-1",
        "0",
        "1e999",
        "nan",
        "inf",
        "0x10",
        "9223372036854775807",
        "-9223372036854775808",
        "18446744073709551616",
        "1e-320",
        "periodic",
        "neumann",
        "dirichlet 1",
        "dirichlet",
        "true",
        "none",
        "/",
        "../..",
        ":/",
        "%s%n",
        "\xff\xfe",
        "\xc3\xa9",
    };
    for (size_t i = 0; i < config_table_count; i++)
        deck_word[deck_word_count++] = strchr(config_table[i].key, '.') + 1;
    for (size_t i = 0; i < config_table_count; i++) deck_word[deck_word_count++] = config_table[i].key;
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) deck_word[deck_word_count++] = more[i];
}

/* What a config says is read again as what it is; NULL, or what is wrong. */
static inline const char *comes_back(const config *c)
{
    static config again;
    sentence why = { "" };
    deck d = { NULL, 0 };
    char *text = config_to_text(c);
    memset(&again, 0, sizeof again);
    const bool ok = deck_read_text(&d, text, "resolved", &why) && config_from_deck(&again, &d, &why);
    deck_free(&d);
    free(text);
    if (!ok) print_error("%s\n", why.text);
    return !ok                                  ? "a resolved deck is refused"
           : config_first_difference(c, &again) ? "a resolved deck means something else"
                                                : NULL;
}

static inline const char *try_deck(fuzz_input *in)
{
    static config c;
    sentence why = { "" };
    deck d = { NULL, 0 };
    in->bytes[in->count] = '\0'; /* a zero byte before is where deck_file_text would have refused */
    memset(&c, 0, sizeof c);
    const bool ok = deck_read_text(&d, in->bytes, "fuzz.ini", &why) && config_from_deck(&c, &d, &why);
    deck_free(&d);
    return ok ? comes_back(&c) : fuzz_one_sentence(why.text) ? NULL : "a refusal without a sentence";
}

/* An argument per line. */
static inline const char *try_command_line(fuzz_input *in)
{
    static request q;
    sentence why = { "" };
    char *argv[32] = { "run" };
    int argc = 1;
    in->bytes[in->count] = '\0';
    for (char *at = in->bytes; argc < 31; at = NULL) {
        argv[argc] = strtok(at, "\n");
        if (!argv[argc]) break;
        argc++;
    }
    const bool ok = request_make(&q, argc, argv, &why);
    const char *wrong = ok                            ? comes_back(&q.cfg)
                        : fuzz_one_sentence(why.text) ? NULL
                                                      : "a refusal without a sentence";
    request_free(&q);
    return wrong;
}
