#include "ranks/agree.h"

#include <stdint.h>

#include "ranks/check.h"
#include "ranks/ranks.h"

bool agree_all(bool ok, MPI_Comm comm)
{
    int all = ok;
    MPI_CHECK(ranks_allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm));
    return all != 0;
}

bool agree_any(bool one, MPI_Comm comm) { return !agree_all(!one, comm); }

int agree_worst(int mine, sentence *why, MPI_Comm comm)
{
    const int rank = ranks_mine(comm), ranks = ranks_count(comm);
    int64_t key = (int64_t)mine * ranks + (ranks - 1 - rank); /* of equals the lowest rank speaks */
    MPI_CHECK(ranks_allreduce(MPI_IN_PLACE, &key, 1, MPI_INT64_T, MPI_MAX, comm));
    const int worst = (int)(key / ranks), speaker = ranks - 1 - (int)(key % ranks);
    if (worst > 0) MPI_CHECK(ranks_bcast(why->text, SENTENCE_BYTES, MPI_CHAR, speaker, comm));
    return worst;
}

bool agree_or_say(bool ok, sentence *why, MPI_Comm comm) { return agree_worst(!ok, why, comm) == 0; }
