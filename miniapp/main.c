/* weft: MPI multi-GPU stencil and transpose mini-app. */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "cmd.h"
#include "topology.h"
#include "version.h"

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} commands[] = {
    { "run", cmd_run, "DECK [section.key=value ...]   run the problem of an input file" },
    { "bench", cmd_bench, "[FAMILY[/RUNG] ...] [key=value ...] the ladder: measure how to move and compute data here" },
    { "info", cmd_info, "                               what this machine and this build offer" },
    { "verify", cmd_verify, "FILE ...                       check state files: every fingerprint" },
    { "diff", cmd_diff, "A B                            compare two state files cell by cell" },
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void print_help(FILE *to)
{
    fprintf(to, "weft %s: MPI multi-GPU stencil and transpose mini-app and benchmark\n\n", version_number);
    fprintf(to, "usage: [mpirun -n RANKS] weft COMMAND ...\n\n");
    for (int i = 0; i < COMMANDS; i++) fprintf(to, "  %-7s %s\n", commands[i].name, commands[i].summary);
    fprintf(to, "\n`weft COMMAND --help` says more. Try: mpirun -n 2 weft run inputs/heat2d.ini\n"
                "Exit status: 0 done; 1 wrong result; 2 mistake in the command or deck; 3 machine or file failure;\n"
                "75 stopped by a signal, with a checkpoint.\n");
}

int main(int argc, char **argv)
{
    if (argc >= 2 && strcmp(argv[1], TOPOLOGY_PROBE_ARGUMENT) == 0) return topology_probe_child();
    if (argc >= 2 && strcmp(argv[1], "--version") == 0) {
        printf("weft %s (%s)\n", version_number, version_git);
        return 0;
    }
    if (argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        print_help(stdout);
        return 0;
    }
    for (int i = 0; argc >= 2 && i < COMMANDS; i++) {
        if (strcmp(argv[1], commands[i].name) != 0) continue;
        if (argc >= 3 && strcmp(argv[2], "--version") == 0) {
            printf("weft %s (%s)\n", version_number, version_git);
            return 0;
        }
        return commands[i].run(argc - 1, argv + 1);
    }
    (void)cmd_begin();
    if (argc < 2) return cmd_end(cmd_say(CHECK_EXIT_USAGE, "no command; `weft --help` lists them"));
    return cmd_end(cmd_say(CHECK_EXIT_USAGE, "unknown command '%s'; allowed: run, bench, info, verify, diff", argv[1]));
}
