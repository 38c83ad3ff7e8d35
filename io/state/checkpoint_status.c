#include "state/checkpoint_status.h"

#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "ranks/check.h"
#include "ranks/ranks.h"

checkpoint_status checkpoint_agree(MPI_Comm comm, checkpoint_status mine, sentence *why)
{
    int rank, ranks;
    MPI_CHECK(ranks_mine(comm, &rank));
    MPI_CHECK(ranks_count(comm, &ranks));
    /* the worst status first, then the lowest rank */
    const int64_t key = (int64_t)mine * ranks + (ranks - 1 - rank);
    int64_t worst;
    MPI_CHECK(ranks_allreduce(&key, &worst, 1, MPI_INT64_T, MPI_MAX, comm));
    const checkpoint_status status = (checkpoint_status)(worst / ranks);
    if (status == CHECKPOINT_OK) return status;
    const int speaker = ranks - 1 - (int)(worst % ranks);
    MPI_CHECK(ranks_bcast(why->text, SENTENCE_BYTES, MPI_CHAR, speaker, comm));
    return status;
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
