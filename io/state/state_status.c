#include "state/state_status.h"

#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "ranks/agree.h"
#include "ranks/check.h"
#include "ranks/ranks.h"

const char *state_host(char out[STATE_HOST_BYTES])
{
    memset(out, 0, STATE_HOST_BYTES);
    return gethostname(out, STATE_HOST_BYTES - 1) == 0 ? out : "its host";
}

state_status state_agree(MPI_Comm comm, state_status mine, sentence *why)
{
    const int rank = ranks_mine(comm);
    char host[STATE_HOST_BYTES];
    if (mine == STATE_MISSING && rank > 0)
        sentence_add(why, " (rank %d on %s)", rank, state_host(host)); /* rank 0 may see it */
    return (state_status)agree_worst((int)mine, why, comm);
}

state_status state_fail(state_status status, sentence *why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    sentence_set_list(why, format, args);
    va_end(args);
    return status;
}

state_status state_file_failed(const char *what, const char *path, int code, sentence *why)
{
    return state_fail(STATE_IO, why, "cannot %s %s: %s", what, path, strerror(code));
}

int state_exit(state_status status)
{
    const bool mistake = status == STATE_MISSING || status == STATE_BUSY;
    return status == STATE_OK ? 0 : mistake ? CHECK_EXIT_USAGE : CHECK_EXIT_ENVIRONMENT;
}
