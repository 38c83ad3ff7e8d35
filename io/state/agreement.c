#include "state/agreement.h"

#include <assert.h>

#include "ranks/check.h"

#if WEFT_SIM
/* A non-blocking collective of SMPI sends a message to every rank, P^2 of them in all, and each test of it
 * goes through P requests: 256 ranks came to no end. Its blocking ones are trees. All ranks come to the same
 * collectives in the same order, and none holds back what another needs to get there, since a simulated rank
 * has no thread beside it. */
#define MPI_Iallreduce(mine, all, count, type, op, comm, request) \
    (*(request) = MPI_REQUEST_NULL, MPI_Allreduce(mine, all, count, type, op, comm))
#define MPI_Ibcast(data, count, type, root, comm, request) \
    (*(request) = MPI_REQUEST_NULL, MPI_Bcast(data, count, type, root, comm))
#endif

static MPI_Request *next_request(agreement *a)
{
    assert(a->pending_count < AGREEMENT_REQUESTS_MAX);
    return &a->pending[a->pending_count++];
}

void agreement_allreduce(agreement *a, const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op)
{
    MPI_CHECK(MPI_Iallreduce(mine, all, count, type, op, a->comm, next_request(a)));
}

void agreement_bcast(agreement *a, void *bytes, int count, int root)
{
    MPI_CHECK(MPI_Ibcast(bytes, count, MPI_BYTE, root, a->comm, next_request(a)));
}

void agreement_begin(agreement *a, state_status status, int numbers)
{
    assert(numbers <= AGREEMENT_NUMBERS_MAX);
    a->mine[0] = (int64_t)status * a->ranks + (a->ranks - 1 - a->rank); /* of equals the lowest rank speaks */
    agreement_allreduce(a, a->mine, a->all, numbers, MPI_INT64_T, MPI_MAX);
}

bool agreement_done(agreement *a)
{
    int complete = 1;
    MPI_CHECK(MPI_Testall(a->pending_count, a->pending, &complete, MPI_STATUSES_IGNORE));
    if (complete) a->pending_count = 0;
    return complete;
}

state_status agreement_worst(const agreement *a) { return (state_status)(a->all[0] / a->ranks); }

int agreement_speaker(const agreement *a) { return a->ranks - 1 - (int)(a->all[0] % a->ranks); }
