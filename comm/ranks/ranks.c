#include "ranks/ranks.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/fp.h"
#include "ranks/check.h"

/* The variables that launchers leave in the environment: Open MPI's and PRRTE's, MVAPICH's, those of PMI
 * (MPICH's hydra, Intel MPI, Cray, Flux), Slurm's and PMIx's. Of the first four, which say how many processes
 * were started, the first that is there is the innermost launcher's in most nests. */
static const char *const left[] = { "OMPI_COMM_WORLD_SIZE",
                                    "MV2_COMM_WORLD_SIZE",
                                    "PMI_SIZE",
                                    "SLURM_STEP_NUM_TASKS",
                                    "PMIX_RANK",
                                    "PMI_RANK",
                                    "PMI_FD" };
enum { LEFT = sizeof left / sizeof *left, COUNTS = 4, SLURM = COUNTS - 1 };

/* The first of them that shows a launcher (mpirun, srun, ...); LEFT: none started this process. Slurm's must
 * count several tasks: a batch script is one, whatever its job has, and a shell of `srun --pty`, which has
 * its step's tasks in the environment, starts what is meant alone. */
static int launcher(void)
{
    for (int i = 0; i < LEFT; i++) {
        const char *const text = getenv(left[i]);
        if (text && (i != SLURM || (strtol(text, NULL, 10) > 1 && !getenv("SLURM_PTY_PORT")))) return i;
    }
    return LEFT;
}

bool ranks_apart(sentence *why)
{
    const int by = launcher();
    const long started = by < COUNTS ? strtol(getenv(left[by]), NULL, 10) : 1;
    if (WEFT_SIM || started <= 1 || ranks_count(ranks_world()) > 1) return false;
    sentence_set(why,
                 "%s = %ld, but MPI sees one rank: each of %ld processes would run the whole alone; start "
                 "them by the launcher of the MPI that weft was built with (weft --version), under Slurm by "
                 "srun --mpi=pmix; where one process is meant, unset %s",
                 left[by], started, started, left[by]);
    return true;
}

void ranks_begin(bool needed)
{
    int given = 0;
    if (!needed && launcher() == LEFT) return;
    check_guard("MPI_Init");
    MPI_CHECK(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &given));
    fp_default();
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

static bool alone(MPI_Comm comm) { return comm == MPI_COMM_NULL; }

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

int ranks_allreduce(void *data, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    return alone(comm) ? MPI_SUCCESS : MPI_Allreduce(MPI_IN_PLACE, data, count, type, op, comm);
}

int ranks_allgather(const void *mine, size_t bytes, void *all, MPI_Comm comm)
{
    if (alone(comm)) memcpy(all, mine, bytes);
    return alone(comm) ? MPI_SUCCESS
                       : MPI_Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, comm);
}

int ranks_dup(MPI_Comm comm, MPI_Comm *copy_of)
{
    *copy_of = MPI_COMM_NULL;
    return alone(comm) ? MPI_SUCCESS : MPI_Comm_dup(comm, copy_of);
}

int ranks_free(MPI_Comm *comm) { return alone(*comm) ? MPI_SUCCESS : MPI_Comm_free(comm); }

void ranks_wait_asleep(MPI_Request *request)
{
    static const struct timespec nap = { 0, 500000 };
    for (int done = 0; !done;) {
        MPI_CHECK(MPI_Test(request, &done, MPI_STATUS_IGNORE));
        if (!done) (void)nanosleep(&nap, NULL);
    }
}

/* ---- what all ranks must decide alike ---- */

bool agree_all(bool ok, MPI_Comm comm)
{
    int all = ok;
    MPI_CHECK(ranks_allreduce(&all, 1, MPI_INT, MPI_MIN, comm));
    return all != 0;
}

bool agree_any(bool one, MPI_Comm comm) { return !agree_all(!one, comm); }

int agree_worst(int mine, sentence *why, MPI_Comm comm)
{
    struct {
        int status, rank;
    } worst = { mine, ranks_mine(comm) }; /* of equals MPI_MAXLOC takes the lowest rank */
    MPI_CHECK(ranks_allreduce(&worst, 1, MPI_2INT, MPI_MAXLOC, comm));
    if (worst.status > 0) MPI_CHECK(ranks_bcast(why->text, SENTENCE_BYTES, MPI_CHAR, worst.rank, comm));
    return worst.status;
}

bool agree_or_say(bool ok, sentence *why, MPI_Comm comm) { return agree_worst(!ok, why, comm) == 0; }

/* ---- which ranks run on one host ---- */

static int pretended_leader(int rank, int ranks, int leader)
{
#ifdef WEFT_DEBUG
    const char *asked = getenv("WEFT_PRETEND_HOSTS");
    const int count = asked ? atoi(asked) : 0;
    if (count > 0 && count <= ranks) return (rank * count / ranks * ranks + count - 1) / count;
#endif
    return leader;
}

hosts *hosts_create(MPI_Comm comm)
{
    const int rank = ranks_mine(comm), ranks = ranks_count(comm);
    int leader = rank; /* the lowest rank of this host */
    hosts *h = CHECK_CALLOC(1, sizeof *h);
    h->of = CHECK_CALLOC(3 * ranks + 1, sizeof *h->of);
    h->rank = h->of + ranks;
    h->begin = h->rank + ranks;
    h->mine = MPI_COMM_NULL;
    if (!alone(comm))
        MPI_CHECK(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &h->mine));
    MPI_CHECK(ranks_bcast(&leader, 1, MPI_INT, 0, h->mine));
    leader = pretended_leader(rank, ranks, leader);
    MPI_CHECK(ranks_allgather(&leader, sizeof leader, h->of, comm));
    for (int r = 0; r < ranks; r++) h->of[r] = h->of[r] == r ? h->count++ : h->of[h->of[r]];
    for (int host = 0, found = 0; host < h->count; host++) {
        for (int r = 0; r < ranks; r++)
            if (h->of[r] == host) h->rank[found++] = r;
        h->begin[host + 1] = found;
    }
    return h;
}

void hosts_destroy(hosts **h)
{
    if (!h || !*h) return;
    MPI_CHECK(ranks_free(&(*h)->mine));
    free((*h)->of);
    free(*h);
    *h = NULL;
}
