#include "agree.h"

#include "check.h"

bool agree_all(bool ok, MPI_Comm comm)
{
    int all = ok;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm));
    return all != 0;
}

bool agree_or_say(bool ok, char *sentence, size_t sentence_bytes, MPI_Comm comm)
{
    int rank, ranks, first;
    MPI_CHECK(MPI_Comm_rank(comm, &rank));
    MPI_CHECK(MPI_Comm_size(comm, &ranks));
    const int mine = ok ? ranks : rank;
    MPI_CHECK(MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, comm));
    if (first == ranks) return true;
    MPI_CHECK(MPI_Bcast(sentence, (int)sentence_bytes, MPI_CHAR, first, comm));
    return false;
}
