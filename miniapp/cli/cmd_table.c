#include "cli/cmd_table.h"

#include <string.h>

#include "base/cmd.h"
#include "base/machine.h"
#include "base/terminal.h"
#include "bench/bench_request.h"
#include "check/check.h"
#include "config/config.h"
#include "config/request.h"

const cmd_row cmd_table[] = {
    { "run", cmd_run, "DECK [section.key=value ...]", "run the problem of an input file",
      "Runs the problem of an input file. A value on the command line wins over the deck, the deck over the "
      "default.",
      request_options, config_print_keys, "Keys:", NULL },
    { "bench", cmd_bench, "[FAMILY[/RUNG] ...] [key=value ...]",
      "ladder: measure ways to move and compute data",
      "Measures what this device can do and how near each way of moving or computing data comes to it. Every "
      "rung is checked against the host's answer before it is timed; its rate is printed beside a ceiling "
      "measured in the same run.\n"
      "Rates of rungs and ceilings are computed from the median of the samples. The spread is (90th "
      "percentile - minimum) / median; rows with a spread above 10 % are marked with *: the machine was not "
      "quiet.\n"
      "Families halo, alltoall and io use all ranks together; they run if there are several ranks or if they "
      "are named. A rank that takes more than 5 % longer than the median rank is named.\n"
      "`--list` names the page that explains a family.",
      bench_request_options, bench_request_print_keys,
      "Keys, in addition to the parameters that --list shows:",
      "0 all rungs right; 1 a rung gave wrong results; 2 a mistake in the command; 3 machine or file "
      "failure." },
    { "check", cmd_check, "[fs DIR] [key=value ...]", "does this machine deliver, and if not, which part",
      "Tries every GPU's memory, arithmetic and copies, every link of two GPUs and of two hosts, all ranks "
      "together, and the file system; each is verified bit for bit, then timed. Prints one page: a verdict, "
      "each figure beside the others of its kind, and which part is to blame for what is slow or wrong.\n"
      "`weft check fs DIR` tells in ten seconds (seconds=) what a file system keeps of what checkpoints rely "
      "on.",
      NULL, check_request_print_keys, "Keys:",
      "0 delivers; 1 slow or wrong; 2 a mistake in the command; 3 incomplete: a signal came before there "
      "were rounds enough, a rank hangs, or a file or device failed; 4 not judged." },
    { "info", cmd_info, "", "what this machine and this build offer",
      "Prints what is compiled in; MPI, whether it claims to take device buffers and whether a test confirms "
      "that; HDF5; and a table of who drives what: every rank's GPU and its PCI address, the NUMA node and "
      "cores near to it, the cores that the rank may use, the nearest network cards, and what is wrong with "
      "that. Hosts that are alike are printed once.",
      cmd_info_options, NULL, NULL, NULL },
    { "verify", cmd_verify, "FILE_OR_DIR ...", "check state files: every block and fingerprint",
      "Reads every field of each state file, or of all checkpoints in a folder, compares its block checksums "
      "and its fingerprint with the stored ones, and names the dataset, block and rows (in 1D, columns) that "
      "are damaged.",
      NULL, NULL, NULL, "0 all files whole; 2 a file is missing; 3 a file is damaged or unreadable." },
    { "diff", cmd_diff, "A B", "compare two state files or runs cell by cell",
      "Compares two state files cell by cell, or the checkpoints of two folders step by step; a step that "
      "only one folder has is named. Prints how many cells differ, and the largest absolute and relative "
      "difference, each with its place. Only a few megabytes of a field are in memory at a time.",
      NULL, NULL, NULL,
      "0 the same bits; 1 they differ; 2 a file is missing; 3 a file is damaged or unreadable." },
};
const size_t cmd_table_count = sizeof cmd_table / sizeof cmd_table[0];

static const char status_of_all[] =
    "0 done; 1 wrong result; 2 mistake in the command or deck; 3 machine or file failure; 4 not judged; 75 "
    "stopped by a signal or its time limit, with a checkpoint.";

const cmd_row *cmd_table_find(const char *name)
{
    for (size_t i = 0; i < cmd_table_count; i++)
        if (strcmp(cmd_table[i].name, name) == 0) return &cmd_table[i];
    return NULL;
}

/* How many options a command has beside --help and --version. */
static int options_of(const cmd_row *c)
{
    int count = 0;
    while (c->option && count < CMD_OPTIONS_MAX && c->option[count].name) count++;
    return count;
}

/* ---- help ---- */

void cmd_table_print_all(FILE *to)
{
    fprintf(to, "weft %s: MPI multi-GPU stencil and transpose mini-app and benchmark\n\n", version_number);
    fprintf(to, "usage: [mpirun -n RANKS] weft COMMAND ...\n\n");
    for (size_t i = 0; i < cmd_table_count; i++)
        fprintf(to, "  %-7s %-35s %s\n", cmd_table[i].name, cmd_table[i].operands, cmd_table[i].summary);
    fprintf(to, "\n`weft help COMMAND` describes one. Try: mpirun -n 2 weft run inputs/heat2d.ini\n");
    terminal_say(to, 0, "Exit status: %s", status_of_all);
}

void cmd_table_print(FILE *to, const char *name)
{
    const cmd_row *c = cmd_table_find(name);
    char options[256] = "";
    size_t used = 0;
    for (int i = 0; i < options_of(c); i++)
        used += (size_t)snprintf(options + used, sizeof options - used, " [%s%s%s]", c->option[i].name,
                                 c->option[i].argument ? " " : "",
                                 c->option[i].argument ? c->option[i].argument : "");
    terminal_say(to, 7, "usage: [mpirun -n RANKS] weft %s%s%s%s\n", c->name, c->operands[0] ? " " : "",
                 c->operands, options);
    terminal_wrap(to, c->text, 0);
    for (int i = 0; i < options_of(c); i++)
        terminal_say(to, 14, "  %-11s %s", c->option[i].name, c->option[i].help);
    if (c->print_keys) {
        fprintf(to, "\n%s\n", c->keys);
        c->print_keys(to);
    }
    fputc('\n', to);
    terminal_say(to, 0, "Exit status: %s", c->exit_status ? c->exit_status : status_of_all);
}

/* ---- mistakes ---- */

void cmd_table_unknown(const char *typed, sentence *why)
{
    const char *name[sizeof cmd_table / sizeof *cmd_table];
    for (size_t i = 0; i < cmd_table_count; i++) name[i] = cmd_table[i].name;
    cmd_unknown("command", typed, name, (int)cmd_table_count, why);
}

bool cmd_table_knows_options(const cmd_row *c, int argc, char **argv, sentence *why)
{
    const char *name[CMD_OPTIONS_MAX + 2];
    int count = 0;
    for (; count < options_of(c); count++) name[count] = c->option[count].name;
    name[count] = "--help";
    name[count + 1] = "--version";
    for (int i = 1; i < argc; i++) {
        int k = 0;
        while (k < count && strcmp(argv[i], name[k]) != 0) k++;
        if (k < count && c->option[k].argument) i++;
        if (k < count || argv[i][0] != '-') continue;
        cmd_unknown("option", argv[i], name, count + 2, why);
        return false;
    }
    return true;
}
