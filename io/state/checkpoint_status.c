#include "state/checkpoint_status.h"

#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "ranks/agree.h"
#include "ranks/check.h"
#include "ranks/ranks.h"

const char *checkpoint_host(char out[CHECKPOINT_HOST_BYTES])
{
    memset(out, 0, CHECKPOINT_HOST_BYTES);
    return gethostname(out, CHECKPOINT_HOST_BYTES - 1) == 0 ? out : "its host";
}

checkpoint_status checkpoint_agree(MPI_Comm comm, checkpoint_status mine, sentence *why)
{
    const int rank = ranks_mine(comm);
    char host[CHECKPOINT_HOST_BYTES];
    if (mine == CHECKPOINT_MISSING && rank > 0)
        sentence_add(why, " (rank %d on %s)", rank, checkpoint_host(host)); /* rank 0 may see it */
    return (checkpoint_status)agree_worst((int)mine, why, comm);
}

checkpoint_status checkpoint_fail(checkpoint_status status, sentence *why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    sentence_set_list(why, format, args);
    va_end(args);
    return status;
}

checkpoint_status checkpoint_file_failed(const char *what, const char *path, int code, sentence *why)
{
    return checkpoint_fail(CHECKPOINT_IO, why, "cannot %s %s: %s", what, path, strerror(code));
}

int checkpoint_exit(checkpoint_status status)
{
    const bool mistake = status == CHECKPOINT_MISSING || status == CHECKPOINT_BUSY;
    return status == CHECKPOINT_OK ? 0 : mistake ? CHECK_EXIT_USAGE : CHECK_EXIT_ENVIRONMENT;
}
