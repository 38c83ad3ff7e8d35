/* The options of a command. They stand beside the function that reads them; the table of commands
 * (cmd_table.h) points to them. */
#pragma once

#include <stdbool.h>

#include "core/sentence.h"

enum { CMD_OPTIONS_MAX = 6 };

typedef struct cmd_option {
    const char *name, *argument, *help; /* argument: NULL for none */
} cmd_option;

/* Every `option` here is an array of CMD_OPTIONS_MAX: a command's options beside --help and --version; the
 * rest is zero. */
extern const cmd_option cmd_option_none[CMD_OPTIONS_MAX];
int cmd_option_count(const cmd_option *option);

/* "unknown option '--dryrun', did you mean --dry-run; allowed: --dry-run, --help ..." */
void cmd_option_unknown(const cmd_option *option, const char *typed, sentence *why);
/* Of a command whose options take no argument: is every one known? */
bool cmd_option_all_known(const cmd_option *option, int argc, char **argv, sentence *why);

/* The same sentence of any kind of word. argument[i]: what follows name[i], or NULL. */
void cmd_option_unknown_word(const char *what, const char *typed, const char *const *name,
                             const char *const *argument, int count, sentence *why);
