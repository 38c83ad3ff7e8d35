#include "state/checkpoint_status.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "ranks/check.h"
#include "ranks/ranks.h"

checkpoint_status checkpoint_agree(MPI_Comm comm, checkpoint_status mine, char *why, size_t why_bytes)
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
    char text[CHECKPOINT_SENTENCE_BYTES] = "";
    if (rank == speaker) snprintf(text, sizeof text, "%s", why);
    MPI_CHECK(ranks_bcast(text, (int)sizeof text, MPI_CHAR, speaker, comm));
    if (why_bytes) snprintf(why, why_bytes, "%s", text);
    return status;
}

checkpoint_status checkpoint_fail(checkpoint_status status, char *why, size_t why_bytes, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, why_bytes, format, args);
    va_end(args);
    return status;
}

checkpoint_status checkpoint_file_failed(const char *what, const char *path, int code, char *why, size_t why_bytes)
{
    return checkpoint_fail(CHECKPOINT_IO, why, why_bytes, "cannot %s %s: %s", what, path, strerror(code));
}
