#include "writer/agreement.h"

#include <assert.h>

#include "ranks/check.h"

MPI_Request *agreement_request(agreement *a)
{
    assert(a->pending_count < AGREEMENT_REQUESTS_MAX);
    return &a->pending[a->pending_count++];
}

void agreement_begin(agreement *a, checkpoint_status status, int numbers)
{
    assert(numbers <= AGREEMENT_NUMBERS_MAX);
    a->mine[0] = (int64_t)status * a->ranks + (a->ranks - 1 - a->rank); /* of equals the lowest rank speaks */
    MPI_CHECK(MPI_Iallreduce(a->mine, a->all, numbers, MPI_INT64_T, MPI_MAX, a->comm, agreement_request(a)));
}

bool agreement_done(agreement *a)
{
    int complete = 1;
    MPI_CHECK(MPI_Testall(a->pending_count, a->pending, &complete, MPI_STATUSES_IGNORE));
    if (complete) a->pending_count = 0;
    return complete;
}

checkpoint_status agreement_worst(const agreement *a) { return (checkpoint_status)(a->all[0] / a->ranks); }

int agreement_speaker(const agreement *a) { return a->ranks - 1 - (int)(a->all[0] % a->ranks); }

/* As two that are not negative, since the largest of each is agreed on. */
void agreement_tell(agreement *a, int at, uint64_t number)
{
    a->mine[at] = (int64_t)(number >> 32);
    a->mine[at + 1] = (int64_t)(number & UINT32_MAX);
}

uint64_t agreement_told(const agreement *a, int at) { return (uint64_t)a->all[at] << 32 | (uint64_t)a->all[at + 1]; }
