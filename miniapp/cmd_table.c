#include "cmd_table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "bench_request.h"
#include "check.h"
#include "cmd.h"
#include "cmd_predict.h"
#include "config.h"
#include "deck.h"
#include "terminal.h"
#include "version.h"

const cmd_row cmd_table[] = {
    { "run", cmd_run, "DECK [section.key=value ...]", "run the problem of an input file",
      "Runs the problem of an input file. A value on the command line wins over the deck, the deck over the default.",
      { { "--restart", "FILE_OR_DIR",
          "continue from a state file, or from the newest whole one in a directory (start at step 0 if it has none); time.steps "
          "may not be below its step; if equal, the run exits with 0 at once" },
        { "--restart-if-any", "FILE_OR_DIR",
          "the same, but start at step 0 if FILE_OR_DIR does not exist: for scripts of jobs that may be requeued" },
        { "--dry-run", NULL,
          "check the deck, ranks, device, restart and output paths; print the resolved deck and what the run would need: process "
          "grid, memory, bytes moved and sent, checkpoints; take no step" },
        { "--quiet", NULL, "print no table and no progress; the record holds all results, and errors are still printed" } },
      config_print_keys, "Keys:", NULL, false },
    { "bench", cmd_bench, "[FAMILY[/RUNG] ...] [key=value ...]", "ladder: measure ways to move and compute data",
      "Measures what this device can do and how near each way of moving or computing data comes to it. Every rung is checked "
      "against the host's answer before it is timed; its rate is printed beside a ceiling measured in the same run.\n"
      "Rates of rungs and ceilings are computed from the median of the samples. The spread is (90th percentile - minimum) / "
      "median; rows with a spread above 10 % are marked with *: the machine was not quiet.\n"
      "Families halo, alltoall and io use all ranks together; they run if there are several ranks or if they are named. A rank "
      "that takes more than 5 % longer than the median rank is named.\n"
      "`weft bench FAMILY --help` explains a family and its rungs.",
      { { "--list", NULL, "list the rungs and parameters of every device of this build, or of device=; run nothing" },
        { "--csv", NULL, "print all rows as CSV (RFC 4180) with a header line instead of tables" } },
      bench_request_print_keys, "Keys, in addition to the parameters that --list shows:",
      "0 all rungs right; 1 a rung gave wrong results; 2 a mistake in the command; 3 machine or file failure.", false },
    { "info", cmd_info, "", "what this machine and this build offer",
      "Prints what is compiled in; MPI, whether it claims to take device buffers and whether a test confirms that; HDF5; and the "
      "device, CPUs and NUMA nodes of every rank.",
      { { "--json", NULL, "print one JSON object, for programs" },
        { "--measure", NULL,
          "also measure copies within device memory, on all ranks at once, and from every rank to every other, one pair at a time, "
          "over the shortest path (at most 16 ranks)" } },
      NULL, NULL, NULL, false },
    { "verify", cmd_verify, "FILE_OR_DIR ...", "check state files: every block and fingerprint",
      "Reads every field of each state file, or of all checkpoints in a folder, compares its block checksums and its fingerprint "
      "with the stored ones, and names the dataset, block and rows (in 1D, columns) that are damaged.",
      { { NULL, NULL, NULL } }, NULL, NULL,
      "0 all files whole; 2 a file is missing; 3 a file is damaged or unreadable.", false },
    { "diff", cmd_diff, "A B", "compare two state files or runs cell by cell",
      "Compares two state files cell by cell, or the checkpoints of all steps that two folders have in common. Prints how many "
      "cells differ, and the largest absolute difference, relative difference and difference in ulps (representable numbers "
      "between the two), each with its place. Only a few megabytes of a field are in memory at a time.",
      { { NULL, NULL, NULL } },
      NULL, NULL, "0 the same bits; 1 they differ; 2 a file is missing; 3 a file is damaged or unreadable.", false },
    { "predict", cmd_predict, "DECK from=FILE [key=value ...]", "predict the time of a step on any number of ranks",
      "Predicts time, efficiency, memory, checkpoints and their interval for any number of ranks, from the ceilings in a "
      "machine's records: copies, launches, links, files. Runs without mpirun.",
      { { NULL, NULL, NULL } }, cmd_predict_print_keys, "Keys, in addition to those of a deck:",
      "0 done; 1 check: a step is more than 10 % off; 2 a mistake in the command or deck; 3 an output cannot be written.", true },
};
const size_t cmd_table_count = sizeof cmd_table / sizeof cmd_table[0];

static const char status_of_all[] = "0 done; 1 wrong result; 2 mistake in the command or deck; 3 machine or file failure; 75 "
                                    "stopped by a signal or its time limit, with a checkpoint.";

const cmd_row *cmd_table_find(const char *name)
{
    for (size_t i = 0; i < cmd_table_count; i++)
        if (strcmp(cmd_table[i].name, name) == 0) return &cmd_table[i];
    return NULL;
}

/* ---- help ---- */

/* One line, broken where it is too long. */
__attribute__((format(printf, 3, 4))) static void say(FILE *to, int indent, const char *format, ...)
{
    char *text = NULL;
    va_list ap;
    va_start(ap, format);
    if (vasprintf(&text, format, ap) < 0) check_fail(__FILE__, __LINE__, "vasprintf", "out of memory");
    va_end(ap);
    terminal_wrap(to, text, indent);
    free(text);
}

static int options_of(const cmd_row *c)
{
    int count = 0;
    while (count < CMD_OPTIONS_MAX && c->option[count].name) count++;
    return count;
}

void cmd_table_print_all(FILE *to)
{
    fprintf(to, "weft %s: MPI multi-GPU stencil and transpose mini-app and benchmark\n\n", version_number);
    fprintf(to, "usage: [mpirun -n RANKS] weft COMMAND ...\n\n");
    for (size_t i = 0; i < cmd_table_count; i++)
        fprintf(to, "  %-7s %-35s %s\n", cmd_table[i].name, cmd_table[i].operands, cmd_table[i].summary);
    fprintf(to, "\n`weft help COMMAND` describes one. Try: mpirun -n 2 weft run inputs/heat2d.ini\n");
    say(to, 0, "Exit status: %s", status_of_all);
}

void cmd_table_print(FILE *to, const char *name)
{
    const cmd_row *c = cmd_table_find(name);
    char options[256] = "";
    size_t used = 0;
    for (int i = 0; i < options_of(c); i++)
        used += (size_t)snprintf(options + used, sizeof options - used, " [%s%s%s]", c->option[i].name,
                                 c->option[i].argument ? " " : "", c->option[i].argument ? c->option[i].argument : "");
    say(to, 7, "usage: %sweft %s%s%s%s\n", c->alone ? "" : "[mpirun -n RANKS] ", c->name, c->operands[0] ? " " : "", c->operands, options);
    terminal_wrap(to, c->text, 0);
    for (int i = 0; i < options_of(c); i++)
        say(to, 14, "  %-11s %s", c->option[i].name, c->option[i].help);
    if (c->print_keys) {
        fprintf(to, "\n%s\n", c->keys);
        c->print_keys(to);
    }
    fputc('\n', to);
    say(to, 0, "Exit status: %s", c->exit_status ? c->exit_status : status_of_all);
}

/* ---- mistakes ---- */

enum { NAMES_MAX = 16 };

static void say_unknown(const char *what, const char *typed, const char *const *name, const char *const *argument, int count,
                        char *why, size_t why_bytes)
{
    const char *near = deck_near(typed, name, (size_t)count);
    size_t used = (size_t)snprintf(why, why_bytes, "unknown %s '%.200s'%s%s; allowed: ", what, typed, near ? ", did you mean " : "",
                                   near ? near : "");
    for (int i = 0; i < count && used < why_bytes; i++)
        used += (size_t)snprintf(why + used, why_bytes - used, "%s%s%s%s", i ? ", " : "", name[i], argument[i] ? " " : "",
                                 argument[i] ? argument[i] : "");
}

void cmd_table_unknown(const char *typed, char *why, size_t why_bytes)
{
    const char *name[NAMES_MAX], *argument[NAMES_MAX] = { NULL };
    int count = 0;
    for (; count < (int)cmd_table_count; count++) name[count] = cmd_table[count].name;
    say_unknown("command", typed, name, argument, count, why, why_bytes);
}

void cmd_table_unknown_option(const char *command, const char *typed, char *why, size_t why_bytes)
{
    const cmd_row *c = cmd_table_find(command);
    const char *name[NAMES_MAX], *argument[NAMES_MAX] = { NULL };
    int count = 0;
    for (; count < options_of(c); count++) {
        name[count] = c->option[count].name;
        argument[count] = c->option[count].argument;
    }
    name[count++] = "--help";
    name[count++] = "--version";
    say_unknown("option", typed, name, argument, count, why, why_bytes);
}

bool cmd_table_options_known(const char *command, int argc, char **argv, char *why, size_t why_bytes)
{
    const cmd_row *c = cmd_table_find(command);
    for (int i = 1; i < argc; i++) {
        bool known = argv[i][0] != '-';
        for (int k = 0; k < options_of(c) && !known; k++) known = strcmp(argv[i], c->option[k].name) == 0;
        if (known) continue;
        cmd_table_unknown_option(command, argv[i], why, why_bytes);
        return false;
    }
    return true;
}
