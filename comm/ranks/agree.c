#include "ranks/agree.h"

#include "ranks/check.h"
#include "ranks/ranks.h"

bool agree_all(bool ok, MPI_Comm comm)
{
    int all = ok;
    MPI_CHECK(ranks_allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm));
    return all != 0;
}

bool agree_or_say(bool ok, sentence *why, MPI_Comm comm)
{
    int rank, ranks, first;
    MPI_CHECK(ranks_mine(comm, &rank));
    MPI_CHECK(ranks_count(comm, &ranks));
    const int mine = ok ? ranks : rank;
    MPI_CHECK(ranks_allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, comm));
    if (first == ranks) return true;
    MPI_CHECK(ranks_bcast(why->text, SENTENCE_BYTES, MPI_CHAR, first, comm));
    return false;
}
