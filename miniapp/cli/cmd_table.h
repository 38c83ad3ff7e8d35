/* The one table of commands and their options: what main runs, --help, the completion and the sentences
 * about mistakes are all made from it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/cmd.h"

typedef struct cmd_row {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *operands, *summary;
    const char *text;                /* paragraphs */
    const cmd_option *option;        /* CMD_OPTIONS_MAX of them; NULL: none */
    void (*print_keys)(void *file);  /* a FILE *; NULL: it takes none */
    const char *keys, *exit_status;  /* a line above the keys; sentences, NULL: as of all commands */
} cmd_row;

extern const cmd_row cmd_table[];
extern const size_t cmd_table_count;

const cmd_row *cmd_table_find(const char *name); /* NULL: none */
/* All commands; or one with its options and keys. */
void cmd_table_print_all(FILE *to);
void cmd_table_print(FILE *to, const char *name);

int cmd_completion(FILE *to); /* 0 */

/* "unknown command 'rnu', did you mean run; allowed: run, bench ..." */
void cmd_table_unknown(const char *typed, sentence *why);
/* Whether the command has every option of its line. False with one sentence in why. */
bool cmd_table_knows_options(const cmd_row *c, int argc, char **argv, sentence *why);
