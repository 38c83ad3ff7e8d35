/* How a call ended, and files as they are found. */
#include "state/state_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ranks/check.h"
#include "ranks/printable.h"
#include "ranks/ranks.h"
#include "ranks/timer.h"

state_status state_agree(MPI_Comm comm, state_status mine, sentence *why)
{
    const int rank = ranks_mine(comm);
    if (mine == STATE_MISSING && rank > 0)
        sentence_add(why, " (rank %d on %s)", rank, printable_host()); /* rank 0 may see it */
    return (state_status)agree_worst((int)mine, why, comm);
}

state_status state_file_failed(const char *what, const char *path, int code, sentence *why)
{
    return sentence_fail(STATE_IO, why, "cannot %s %s: %s", what, path, strerror(code));
}

state_status state_file_open(const char *path, int *fd, sentence *why)
{
    struct stat info;
    *fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* of a pipe, no wait for a writer */
    const int code = *fd < 0 || fstat(*fd, &info) != 0 ? errno : 0;
    if (!code && S_ISREG(info.st_mode)) return STATE_OK;
    if (*fd >= 0) close(*fd);
    if (code == ENOENT || code == ENOTDIR) return sentence_fail(STATE_MISSING, why, "%s: no such file", path);
    if (code) return state_file_failed("read", path, code, why);
    if (S_ISDIR(info.st_mode))
        return sentence_fail(STATE_MISSING, why, "%s is a directory, not a file", path);
    return sentence_fail(STATE_DAMAGED, why, "%s is a pipe or a device, not a file", path);
}

bool state_look_again(int code, int *tries)
{
    return (code == ENOENT || code == ESTALE) && timer_try_again(tries, 10);
}

int state_exit(state_status status)
{
    const bool mistake = status == STATE_MISSING || status == STATE_BUSY;
    return status == STATE_OK ? 0 : mistake ? CHECK_EXIT_USAGE : CHECK_EXIT_ENVIRONMENT;
}
