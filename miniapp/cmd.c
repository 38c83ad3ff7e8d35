#include "cmd.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "checkpoint.h"
#include "checkpoint_probe.h"
#include "ranks.h"
#include "printable.h"
#include "ranks.h"

static int rank;

int cmd_begin(cmd_ranks need)
{
    (void)umask(umask(0) | S_IWOTH); /* whatever the user's: no file that everybody may write to */
    char self_exe[PATH_MAX] = "";
    if (readlink("/proc/self/exe", self_exe, sizeof self_exe - 1) > 0) checkpoint_probe_by(self_exe);
    checkpoint_before_mpi_init();
    ranks_begin(need == CMD_MPI);
    MPI_CHECK(ranks_mine(ranks_world(), &rank));
    return rank;
}

int cmd_end(int status)
{
    fflush(NULL);
    ranks_end(); /* rank 0's sentence is out before mpirun sees any rank leave */
    return status;
}

int cmd_say(int status, const char *format, ...)
{
    if (rank == 0) {
        /* one line in one write: mpirun forwards what it finds, and puts the table between the pieces of a line */
        char said[4096] = "", line[4096 + 8] = "weft: ";
        const size_t start = strlen(line);
        va_list ap;
        fflush(stdout);
        va_start(ap, format);
        (void)vsnprintf(said, sizeof said, format, ap);
        va_end(ap);
        printable(line + start, sizeof said, said);
        const size_t end = strlen(line);
        line[end] = '\n';
        (void)!write(STDERR_FILENO, line, end + 1);
    }
    return status;
}

bool cmd_has_option(int argc, char **argv, const char *option)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], option) == 0) return true;
    return false;
}

char *cmd_text(int argc, char **argv)
{
    size_t bytes = 16;
    for (int i = 0; i < argc; i++) bytes += strlen(argv[i]) + 1;
    char *text = malloc(bytes);
    if (!text) check_fail(__FILE__, __LINE__, "malloc", "out of memory");
    size_t at = (size_t)snprintf(text, bytes, "weft");
    for (int i = 0; i < argc; i++) at += (size_t)snprintf(text + at, bytes - at, " %s", argv[i]);
    return text;
}
