/* weft: MPI multi-GPU stencil and transpose mini-app. Commands are rows of a table: what main runs, --help
 * and the sentences about mistakes come from it. */
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cmd.h"
#include "base/machine.h"
#include "base/terminal.h"
#include "bench/bench_request.h"
#include "check/check.h"
#include "config/config.h"
#include "config/request.h"
#include "core/fp.h"
#include "ranks/check.h"
#include "topology/topology.h"

static const cmd_option no_options[] = { { NULL, NULL, NULL } };
static const struct cmd_row {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *operands, *summary;
    const char *text;               /* paragraphs */
    const cmd_option *option;       /* none: no_options */
    void (*print_keys)(void *file); /* a FILE *; NULL: it takes none */
    const char *keys, *exit_status; /* a line above the keys; sentences, NULL: as of all commands */
} commands[] = {
    { "run", cmd_run, "DECK [section.key=value ...]", "run the problem of an input file",
      "Runs the problem of an input file. A value on the command line wins over the deck, the deck over the "
      "default. A deck's value may go on in indented lines, which a space joins.",
      request_options, config_print_keys, "Keys:", NULL },
    { "bench", cmd_bench, "[FAMILY[/RUNG] ...] [key=value ...]",
      "ladder: measure ways to move and compute data",
      "Measures what this device can do and how near each way of moving or computing data comes to it. Every "
      "rung is checked against the host's answer before it is timed; its rate is printed beside a ceiling "
      "measured in the same run.\n"
      "Rates are those of the median sample. The spread is (90th percentile - minimum) / median; a * marks "
      "rows with more than 10 %: the machine was not quiet.\n"
      "Families halo, alltoall and io use all ranks together; they run if there are several ranks or if they "
      "are named.\n"
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
      no_options, check_print_keys, "Keys:",
      "0 delivers; 1 slow or wrong; 2 a mistake in the command; 3 incomplete: a signal ended a quick or full "
      "check or a soak's first round, a rank hangs, or a file or device failed; 4 not judged." },
    { "info", cmd_info, "", "what this machine and this build offer",
      "Prints what is compiled in; MPI, whether it claims to take device buffers and whether a test confirms "
      "that; HDF5; and a table of who drives what: every rank's GPU and its PCI address, the NUMA node and "
      "cores near to it, the cores that the rank may use, and what is wrong with that.",
      cmd_info_options, NULL, NULL, NULL },
    { "verify", cmd_verify, "FILE_OR_DIR ...", "check state files: every block and fingerprint",
      "Reads every field of each state file, or of all checkpoints in a folder, compares its block checksums "
      "and its fingerprint with the stored ones, and names the dataset, block and rows (in 1D, columns) that "
      "are damaged.",
      no_options, NULL, NULL, "0 all files whole; 2 a file is missing; 3 a file is damaged or unreadable." },
    { "diff", cmd_diff, "A B", "compare two state files or runs cell by cell",
      "Compares two state files cell by cell, or the checkpoints of two folders step by step; a step that "
      "only one folder has is named. Prints how many cells differ, and the largest absolute and relative "
      "difference, each with its place.",
      no_options, NULL, NULL,
      "0 the same bits; 1 they differ; 2 a file is missing; 3 a file is damaged or unreadable." },
};
enum { COMMANDS = sizeof commands / sizeof *commands };
typedef struct cmd_row cmd_row;

static const char status_of_all[] =
    "0 done; 1 wrong result; 2 mistake in the command or deck; 3 machine or file failure; 4 not judged; 75 "
    "stopped by a signal or its time limit, with a checkpoint.";

/* The command of that name; NULL: there is none. */
static const cmd_row *find(const char *name)
{
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0) return &commands[i];
    return NULL;
}

/* ---- help ---- */

static void print_all(void)
{
    printf("weft %s: MPI multi-GPU stencil and transpose mini-app and benchmark\n\n", version_number);
    printf("usage: [mpirun -n RANKS] weft COMMAND ...\n\n");
    for (int i = 0; i < COMMANDS; i++)
        printf("  %-7s %-35s %s\n", commands[i].name, commands[i].operands, commands[i].summary);
    printf("\n`weft help COMMAND` describes one. Try: mpirun -n 2 weft run inputs/heat2d.ini\n");
    terminal_say(stdout, 0, "Exit status: %s", status_of_all);
}

static void print_command(const cmd_row *c)
{
    sentence options = { "" };
    for (const cmd_option *o = c->option; o->name; o++)
        sentence_add(&options, " [%s%s%s]", o->name, o->argument ? " " : "", o->argument ? o->argument : "");
    terminal_say(stdout, 7, "usage: [mpirun -n RANKS] weft %s%s%s%s\n", c->name, c->operands[0] ? " " : "",
                 c->operands, options.text);
    terminal_wrap(stdout, c->text, 0);
    for (const cmd_option *o = c->option; o->name; o++)
        terminal_say(stdout, 14, "  %-11s %s", o->name, o->help);
    if (c->print_keys) {
        printf("\n%s\n", c->keys);
        c->print_keys(stdout);
    }
    putchar('\n');
    terminal_say(stdout, 0, "Exit status: %s", c->exit_status ? c->exit_status : status_of_all);
}

/* ---- mistakes ---- */

/* The user's mistake in the words of a command, whose name comes first. */
static int refuse(int argc, char **argv, const char *why)
{
    (void)cmd_begin(CMD_ALONE, NULL, argc, argv);
    return cmd_end(cmd_say(CHECK_EXIT_USAGE, "%s", why));
}

static int refuse_command(char *typed)
{
    sentence why;
    if (strcmp(typed, "predict") == 0)
        return refuse(1, &typed, "predict: jobs/predict DECK --from RECORDS predicts (docs/predict.md)");
    sentence_set(&why, "unknown command '%.200s'; allowed: ", typed);
    for (int i = 0; i < COMMANDS; i++) sentence_add(&why, "%s%s", i ? ", " : "", commands[i].name);
    return refuse(1, &typed, why.text);
}

/* Whether the command has every option of its line. False with one sentence in why. */
static bool knows_options(const cmd_row *c, int argc, char **argv, sentence *why)
{
    for (int i = 1; i < argc; i++) {
        const cmd_option *o = c->option;
        while (o->name && strcmp(argv[i], o->name) != 0) o++;
        if (o->argument) i++;
        if (o->name || argv[i][0] != '-') continue;
        sentence_set(why, "unknown option '%.200s'; allowed: ", argv[i]);
        for (o = c->option; o->name; o++) sentence_add(why, "%s, ", o->name);
        sentence_add(why, "--help, --version");
        return false;
    }
    return true;
}

/* ---- the command line ---- */

/* weft help [COMMAND] */
static int help(char *command)
{
    if (!command) print_all();
    else if (find(command)) print_command(find(command));
    else return refuse_command(command);
    return 0;
}

static int perform(int argc, char **argv)
{
    char none[] = "", *const command = argc >= 2 ? argv[1] : none;
    sentence why;
    if (strcmp(command, "--version") == 0 || strcmp(command, "-V") == 0 || strcmp(command, "version") == 0)
        return cmd_version(stdout);
    if (strcmp(command, "--help") == 0 || strcmp(command, "-h") == 0) return help(NULL);
    if (strcmp(command, "help") == 0) return help(argc >= 3 && argv[2][0] != '-' ? argv[2] : NULL);
    const cmd_row *const c = find(command);
    if (argc < 2) return refuse(1, (char *[]){ none }, "no command; `weft --help` lists them");
    if (!c) return refuse_command(command);
    if (cmd_has_option(argc - 1, argv + 1, "--help") || cmd_has_option(argc - 1, argv + 1, "-h"))
        return help(command);
    if (argc >= 3 && strcmp(argv[2], "--version") == 0) return cmd_version(stdout);
    if (!knows_options(c, argc - 1, argv + 1, &why)) return refuse(argc - 1, argv + 1, why.text);
    return c->run(argc - 1, argv + 1);
}

/* ---- stdin, stdout and stderr ---- */

/* A descriptor that the caller closed would be that of the next file opened, and what is printed would go
 * into a checkpoint. One that does not block would lose what a slow reader has not taken yet. A reader that
 * leaves (`weft info | head -1`) ends no run; a limit on the size of files is an error of the write that
 * meets it. */
static void prepare_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        const int flags = fcntl(fd, F_GETFL);
        if (flags < 0) (void)!open("/dev/null", O_RDWR);
        else if (flags & O_NONBLOCK) (void)fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
    }
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
}

static bool reader_left(void)
{
    struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };
    return poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP)) != 0;
}

/* The output must have arrived, unless its reader did not want the rest. */
static int status_with_output(int status)
{
    const bool arrived = fflush(stdout) == 0 && !ferror(stdout);
    if (arrived || reader_left() || status > CHECK_EXIT_FAILED) return status;
    return cmd_say(CHECK_EXIT_ENVIRONMENT, "cannot write all of the output to standard output");
}

int main(int argc, char **argv)
{
    const char *const command = argc >= 2 ? argv[1] : "";
    fp_begin();
    /* numbers have a point whatever locale a library sets: this thread reads and writes them */
    (void)uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
    if (strcmp(command, TOPOLOGY_PROBE_ARGUMENT) == 0) return topology_probe_child();
    prepare_streams();
    return status_with_output(perform(argc, argv));
}
