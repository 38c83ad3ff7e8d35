/* weft: MPI multi-GPU stencil and transpose mini-app. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cmd.h"
#include "base/machine.h"
#include "cli/cmd_table.h"
#include "core/fp.h"
#include "ranks/check.h"
#include "topology/topology.h"
#include "transports/transport.h"

static int print_version(void)
{
    char mpi[256];
    topology_mpi_version(mpi, sizeof mpi);
    const int cuda = device_cuda_built();
    printf("weft %s (%s)\n", version_number, version_git);
    printf("MPI       %s\n", mpi);
    printf("HDF5      %s\n", machine_hdf5_version());
    if (cuda)
        printf("CUDA      %d.%d, NCCL: %s\n", cuda / 1000, cuda % 1000 / 10,
               transport_nccl_built ? "yes" : "no");
    else printf("CUDA      none\n");
    /* gcc's is a number, clang's has its name */
    printf("compiler  %s%s\n", strchr(__VERSION__, ' ') ? "" : "gcc ", __VERSION__);
    return 0;
}

/* The user's mistake in the words of a command, whose name comes first. */
static int refuse(int argc, char **argv, const char *why)
{
    (void)cmd_begin(CMD_ALONE, NULL, argc, argv);
    return cmd_end(cmd_say(CHECK_EXIT_USAGE, "%s", why));
}

static int refuse_command(char *typed)
{
    sentence why;
    cmd_table_unknown(typed, &why);
    return refuse(1, &typed, why.text);
}

/* weft help [COMMAND] */
static int help(char *command)
{
    if (!command) cmd_table_print_all(stdout);
    else if (cmd_table_find(command)) cmd_table_print(stdout, command);
    else return refuse_command(command);
    return 0;
}

static int perform(int argc, char **argv)
{
    char none[] = "", *const command = argc >= 2 ? argv[1] : none;
    sentence why;
    if (strcmp(command, "--version") == 0 || strcmp(command, "-V") == 0 || strcmp(command, "version") == 0)
        return print_version();
    if (strcmp(command, "--help") == 0 || strcmp(command, "-h") == 0) return help(NULL);
    if (strcmp(command, "help") == 0) return help(argc >= 3 && argv[2][0] != '-' ? argv[2] : NULL);
    if (strcmp(command, "--man") == 0) return cmd_manual_page(stdout);
    if (strcmp(command, "--completion") == 0) return cmd_manual_completion(stdout);
    const cmd_row *const c = cmd_table_find(command);
    if (argc < 2) return refuse(1, (char *[]){ none }, "no command; `weft --help` lists them");
    if (!c) return refuse_command(command);
    if (cmd_has_option(argc - 1, argv + 1, "--help") || cmd_has_option(argc - 1, argv + 1, "-h"))
        return help(command);
    if (argc >= 3 && strcmp(argv[2], "--version") == 0) return print_version();
    if (!cmd_table_knows_options(c, argc - 1, argv + 1, &why)) return refuse(argc - 1, argv + 1, why.text);
    return c->run(argc - 1, argv + 1);
}

/* ---- stdin, stdout and stderr ---- */

/* A descriptor that the caller closed would be that of the next file opened, and what is printed would go
 * into a checkpoint. One that does not block would lose what a slow reader has not taken yet. A reader that
 * leaves (`weft info | head -1`) ends no run. */
static void prepare_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        const int flags = fcntl(fd, F_GETFL);
        if (flags < 0) (void)!open("/dev/null", O_RDWR);
        else if (flags & O_NONBLOCK) (void)fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
    }
    (void)signal(SIGPIPE, SIG_IGN);
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
    if (strcmp(command, TOPOLOGY_PROBE_ARGUMENT) == 0) return topology_probe_child();
    prepare_streams();
    return status_with_output(perform(argc, argv));
}
