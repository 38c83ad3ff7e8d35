#include "ranks/ranks.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/fp.h"
#include "ranks/check.h"

/* Did a launcher (mpirun, srun, ...) start this process? By the variables that it leaves in the environment.
 * */
static bool launched(void)
{
    /* Open MPI and PRRTE, PMIx, PMI (MPICH's hydra, Intel MPI, Cray, Flux), MVAPICH */
    static const char *const left[] = { "OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE", "PMI_FD",
                                        "MV2_COMM_WORLD_SIZE" };
    for (size_t i = 0; i < sizeof left / sizeof *left; i++)
        if (getenv(left[i])) return true;
    /* srun without any of these: several tasks in this step (a batch script is one, whatever its job has) */
    const char *const tasks = getenv("SLURM_STEP_NUM_TASKS");
    return tasks && getenv("SLURM_PROCID") && strtol(tasks, NULL, 10) > 1;
}

void ranks_begin(bool needed)
{
    int given = 0;
    if (!needed && !launched()) return;
    check_guard("MPI_Init");
    MPI_CHECK(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &given));
    (void)fp_default();
    MPI_CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
}

void ranks_end(void)
{
    if (ranks_world() == MPI_COMM_NULL) return;
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
    MPI_CHECK(MPI_Finalize());
}

MPI_Comm ranks_world(void)
{
    int begun = 0, ended = 0;
    MPI_CHECK(MPI_Initialized(&begun));
    MPI_CHECK(MPI_Finalized(&ended));
    return begun && !ended ? MPI_COMM_WORLD : MPI_COMM_NULL;
}

/* ---- on one rank ---- */

/* MPI_Type_size may not be asked before MPI_Init. */
static size_t bytes_of(MPI_Datatype type)
{
    const struct {
        MPI_Datatype type;
        size_t bytes;
    } known[] = { { MPI_BYTE, 1 },
                  { MPI_CHAR, 1 },
                  { MPI_INT, sizeof(int) },
                  { MPI_LONG, sizeof(long) },
                  { MPI_UINT32_T, 4 },
                  { MPI_INT64_T, 8 },
                  { MPI_UINT64_T, 8 },
                  { MPI_DOUBLE, sizeof(double) },
                  { MPI_DOUBLE_INT, sizeof(struct {
                        double value;
                        int rank;
                    }) } };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].type == type) return known[i].bytes;
    check_fail(__FILE__, __LINE__, "bytes_of", "a type that is not in the list");
}

static int copy(const void *mine, void *all, int count, MPI_Datatype type)
{
    assert(mine != all);
    if (mine != MPI_IN_PLACE && count > 0) memcpy(all, mine, (size_t)count * bytes_of(type));
    return MPI_SUCCESS;
}

static int none(MPI_Comm *out)
{
    *out = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

static bool alone(MPI_Comm comm) { return comm == MPI_COMM_NULL; }

/* ---- on any number ---- */

int ranks_mine(MPI_Comm comm)
{
    int rank = 0;
    if (!alone(comm)) MPI_CHECK(MPI_Comm_rank(comm, &rank));
    return rank;
}

int ranks_count(MPI_Comm comm)
{
    int ranks = 1;
    if (!alone(comm)) MPI_CHECK(MPI_Comm_size(comm, &ranks));
    return ranks;
}

int ranks_barrier(MPI_Comm comm) { return alone(comm) ? MPI_SUCCESS : MPI_Barrier(comm); }

int ranks_bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    return alone(comm) ? MPI_SUCCESS : MPI_Bcast(data, count, type, root, comm);
}

int ranks_allreduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    return alone(comm) ? copy(mine, all, count, type) : MPI_Allreduce(mine, all, count, type, op, comm);
}

int ranks_allgather(const void *mine, int count, MPI_Datatype type, void *all, int each, MPI_Datatype of,
                    MPI_Comm comm)
{
    return alone(comm) ? copy(mine, all, count, type) : MPI_Allgather(mine, count, type, all, each, of, comm);
}

int ranks_gather(const void *mine, int count, MPI_Datatype type, void *all, int each, MPI_Datatype of,
                 int root, MPI_Comm comm)
{
    return alone(comm) ? copy(mine, all, count, type)
                       : MPI_Gather(mine, count, type, all, each, of, root, comm);
}

static int with_errors_returned(int code, MPI_Comm *comm)
{
    return code != MPI_SUCCESS ? code : MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN);
}

int ranks_dup(MPI_Comm comm, MPI_Comm *copy_of)
{
    return alone(comm) ? none(copy_of) : with_errors_returned(MPI_Comm_dup(comm, copy_of), copy_of);
}

int ranks_of_host(MPI_Comm comm, MPI_Comm *host)
{
    return alone(comm) ? none(host)
                       : with_errors_returned(
                             MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, host), host);
}

int ranks_free(MPI_Comm *comm) { return alone(*comm) ? MPI_SUCCESS : MPI_Comm_free(comm); }

void ranks_nap(void)
{
    static const struct timespec nap = { 0, 500000 };
    (void)nanosleep(&nap, NULL);
}

void ranks_wait_asleep(MPI_Request *request)
{
    for (int done = 0; !done;) {
        MPI_CHECK(MPI_Test(request, &done, MPI_STATUS_IGNORE));
        if (!done) ranks_nap();
    }
}
