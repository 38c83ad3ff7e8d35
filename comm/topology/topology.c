/* Hosts, local ranks and devices. Ranks of one host find each other by MPI_Comm_split_type, never by
 * comparing names; which of them share a GPU they find by its UUID, since the same GPU may have another
 * number in each process (CUDA_VISIBLE_DEVICES). */
#include "topology/topology.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include "device/sysfs.h"
#include "ranks/check.h"
#include "ranks/printable.h"
#include "ranks/ranks.h"

/* The MPI's own word; MPIs without such a question (MPICH) are taken to say no: then staging serves. */
#ifdef MPIX_CUDA_AWARE_SUPPORT
static bool mpi_claims_cuda(void) { return MPIX_Query_cuda_support() == 1; }
#else
static bool mpi_claims_cuda(void) { return false; }
#endif

/* "0-3,8": the CPUs that the scheduler may use for this process; "..." where there is no room for more. */
static void binding_list(char *out, size_t bytes)
{
    static const char more[] = "...";
    const size_t room = bytes - sizeof more;
    cpu_set_t set;
    size_t used = 0;
    (void)snprintf(out, bytes, "unknown");
    if (sched_getaffinity(0, sizeof set, &set) != 0) return;
    for (size_t first = 0; first < CPU_SETSIZE && used < room; first++) {
        if (!CPU_ISSET(first, &set)) continue;
        const size_t begin = used, alone = first;
        while (first + 1 < CPU_SETSIZE && CPU_ISSET(first + 1, &set)) first++;
        used += (size_t)snprintf(out + used, bytes - used, "%s%zu", used ? "," : "", alone);
        if (first > alone && used < room) used += (size_t)snprintf(out + used, bytes - used, "-%zu", first);
        if (used >= room) memcpy(out + begin, more, sizeof more);
    }
}

void topology_mpi_version(char *out, size_t bytes)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_CHECK(MPI_Get_library_version(text, &length));
    text[strcspn(text, "\r\n")] = '\0';
    (void)snprintf(out, bytes, "%.*s", (int)bytes - 1, text);
}

void topology_create(topology *t)
{
    *t = (topology){ .ranks_on_device = 1 };
    MPI_CHECK(ranks_dup(ranks_world(), &t->comm));
    t->rank = ranks_mine(t->comm);
    t->ranks = ranks_count(t->comm);
    t->thread_level = -1;
    if (t->comm != MPI_COMM_NULL) MPI_CHECK(MPI_Query_thread(&t->thread_level));
    t->where = hosts_create(t->comm);
    t->hosts = t->where->count;
    t->local_rank = ranks_mine(t->where->mine);
    t->local_ranks = ranks_count(t->where->mine);
    char host_name[MPI_MAX_PROCESSOR_NAME] = "";
    int length = 0;
    if (WEFT_SIM) MPI_CHECK(MPI_Get_processor_name(host_name, &length)); /* its simulated host */
    else (void)gethostname(host_name, sizeof host_name - 1);
    (void)printable(t->host, sizeof t->host, host_name);
    binding_list(t->binding, sizeof t->binding);
    topology_mpi_version(t->mpi_version, sizeof t->mpi_version);
    t->mpi_claims_cuda = t->comm != MPI_COMM_NULL && mpi_claims_cuda();
}

void topology_destroy(topology *t)
{
    hosts_destroy(&t->where);
    if (t->comm != MPI_COMM_NULL) MPI_CHECK(ranks_free(&t->comm));
}

int topology_threads(const topology *t, int asked)
{
    if (asked > 0) return asked;
    if (getenv("OMP_NUM_THREADS")) return omp_get_max_threads();
    cpu_set_t cpus;
    const int mine = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : omp_get_num_procs();
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    const int share = (long)mine * t->local_ranks > online ? mine / t->local_ranks : mine;
    const double quota = ceil(host_limits_here().cpus) / t->local_ranks;
    return share < 1 || quota < 1 ? 1 : quota < share ? (int)quota : share;
}

double topology_free_bytes(const topology *t, device *d, host_limit *by)
{
    size_t free_bytes = 0, total_bytes = 0;
    DEVICE_CALL(d, memory_info, &free_bytes, &total_bytes);
    *by = HOST_LIMIT_MACHINE;
    if (d->kind == DEVICE_CUDA) return (double)free_bytes / t->ranks_on_device;
    const host_limits l = host_limits_here();
    const double share_bytes = (double)free_bytes / t->local_ranks;
    *by = l.own_bytes < share_bytes ? HOST_LIMIT_PROCESS : l.by;
    return fmin(l.own_bytes, share_bytes);
}

/* How many of the ranks before `rank` took this GPU. */
static int users_before(const char *const *taken, int rank, const char *uuid)
{
    int users = 0;
    for (int r = 0; r < rank; r++) users += strcmp(taken[r], uuid) == 0;
    return users;
}

int topology_gpu_of(const topology_gpus *of, int rank)
{
    int best = 0;
    const char **taken = CHECK_ALLOC(malloc(((size_t)rank + 1) * sizeof *taken));
    for (int r = 0; r <= rank; r++) {
        bool told = true;
        best = r % of[r].count;
        for (int i = 0; i < of[r].count; i++) told = told && of[r].uuid[i][0];
        for (int i = 0, least = INT_MAX; told && i < of[r].count; i++) {
            const int users = users_before(taken, r, of[r].uuid[i]);
            if (users >= least) continue;
            least = users;
            best = i;
        }
        taken[r] = of[r].uuid[best];
    }
    free(taken);
    return best;
}

/* Which of the GPUs that it sees this rank drives. Collective over the host. */
static int choose_gpu(const topology *t, int visible)
{
    topology_gpus mine = { .count = visible < TOPOLOGY_GPUS_MAX ? visible : TOPOLOGY_GPUS_MAX };
    topology_gpus *all = CHECK_ALLOC(malloc((size_t)t->local_ranks * sizeof *all));
    for (int i = 0; i < mine.count; i++) device_cuda_uuid(i, mine.uuid[i]);
    MPI_CHECK(ranks_allgather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, t->where->mine));
    const int gpu = topology_gpu_of(all, t->local_rank);
    free(all);
    return gpu;
}

/* Debug builds: the GPU that this rank is to pretend to drive. */
static bool pretend_gpu(const topology *t, placement_gpu *mine, char pci[DEVICE_PCI_BYTES])
{
#ifdef WEFT_DEBUG
    const char *p = getenv("WEFT_PRETEND_GPUS");
    char word[DEVICE_PCI_BYTES];
    int number = 0, used = 0;
    for (int r = 0; r < t->rank; r++) number += t->where->of[r] == mine->host;
    for (; p && sscanf(p, "%15s%n", word, &used) == 1; p += used, mine->visible++)
        if (mine->visible == 0 || mine->visible == number) memcpy(pci, word, sizeof word);
    if (pci[0]) snprintf(mine->uuid, sizeof mine->uuid, "GPU-%s", pci);
    return pci[0];
#else
    return false;
#endif
}

/* The worst fault of all ranks becomes a note. GPUs without a rank are none: a run is asked for as few ranks
 * as its user likes. */
static void note_worst(topology *t, placement_fault fault, sentence *notes)
{
    const int mine = fault > PLACEMENT_IDLE ? (int)fault : 0;
    sentence_set(&t->worst, "rank %d on %s: %s", t->rank, t->host, t->wrong.text);
    const int worst = agree_worst(mine, &t->worst, t->comm);
    int alike = mine == worst;
    if (worst == 0) t->worst.text[0] = '\0';
    if (worst == 0) return;
    MPI_CHECK(ranks_allreduce(MPI_IN_PLACE, &alike, 1, MPI_INT, MPI_SUM, t->comm));
    if (alike > 1) sentence_add(&t->worst, "; %d of %d ranks are placed like that", alike, t->ranks);
    *notes = t->worst;
}

static void place(topology *t, const device *d, sentence *notes)
{
    cpu_set_t cpus;
    placement_gpu mine = { .host = t->where->of[t->rank],
                           .visible = d->kind == DEVICE_CUDA ? device_cuda_count(NULL) : 0 };
    memcpy(mine.uuid, d->uuid, sizeof mine.uuid);
    memcpy(t->pci, d->pci, sizeof t->pci);
    const bool pretends = pretend_gpu(t, &mine, t->pci);
    /* more CPUs than a set holds */
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0) memset(&cpus, 0xff, sizeof cpus);
    placement_read(&t->at, sysfs_root(), t->pci, &cpus);
    t->ranks_on_device = 1;
    t->speaks_for_device = false;
    t->wrong.text[0] = t->worst.text[0] = '\0';
    if (d->kind == DEVICE_HOST && !pretends) return;
    placement_gpu *all = CHECK_ALLOC(malloc((size_t)t->local_ranks * sizeof *all));
    MPI_CHECK(ranks_allgather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, t->where->mine));
    t->speaks_for_device = d->uuid[0] != '\0';
    for (int i = 0; i < t->local_rank; i++)
        t->speaks_for_device = t->speaks_for_device && strcmp(all[i].uuid, mine.uuid) != 0;
    const placement_fault fault =
        placement_judge(&t->at, all, t->local_ranks, t->local_rank, &t->ranks_on_device, &t->wrong);
    if (t->ranks == 1 && fault == PLACEMENT_IDLE) t->wrong.text[0] = '\0'; /* one rank was asked for */
    note_worst(t, fault, notes);
    free(all);
}

/* Sets with and without to the names of the hosts whose ranks see GPUs, or see none: "a, b, c and 5 more", in
 * memory of the caller. Collective. */
static void look_at_hosts(const topology *t, gpu_facts *f, sentence names[2])
{
    enum { NAMED = 3 };
    typedef struct rank_host {
        char name[sizeof t->host];
        bool sees; /* some rank on this host sees a GPU */
    } rank_host;
    rank_host mine = { .sees = agree_any(f->visible > 0, t->where->mine) };
    int found[2] = { 0 };
    if (agree_all(mine.sees, t->comm)) return;
    rank_host *all = CHECK_ALLOC(malloc((size_t)t->ranks * sizeof *all));
    memcpy(mine.name, t->host, sizeof mine.name);
    MPI_CHECK(ranks_allgather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, t->comm));
    names[false].text[0] = names[true].text[0] = '\0';
    for (int h = 0; h < t->where->count; h++) {
        const rank_host *const first = &all[t->where->rank[t->where->begin[h]]];
        if (found[first->sees]++ < NAMED)
            sentence_add(&names[first->sees], "%s%s", found[first->sees] > 1 ? ", " : "", first->name);
    }
    for (int sees = 0; sees < 2; sees++)
        if (found[sees] > NAMED) sentence_add(&names[sees], " and %d more", found[sees] - NAMED);
    free(all);
    f->without = names[false].text;
    f->with = names[true].text;
}

bool topology_may_use_host(const topology *t, int visible, const char *reason, const char *key,
                           sentence *said)
{
    const bool sees = visible > 0, any = agree_any(sees, t->comm);
    int worst = 0;
    sentence why, names[2];
    gpu_facts f = { .built = device_cuda_built(), .visible = visible, .elsewhere = any && !sees,
                    .reason = reason ? reason : "none is visible", .key = key };
    gpu_rule_look(&f, getenv, "/dev");
    if (any) look_at_hosts(t, &f, names);
    const int mine = (int)gpu_rule_of(&f, &why);
    MPI_CHECK(ranks_allreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, t->comm));
    sentence_set(said, "rank %d on %s: %s", t->rank, t->host, why.text);
    if (agree_or_say(mine != worst || worst <= GPU_RULE_HOST, said, t->comm)) said->text[0] = '\0';
    return worst != GPU_RULE_REFUSE;
}

static device *make_device(const topology *t, topology_choice choice, int threads, sentence *why,
                           sentence *notes)
{
    const char *reason = NULL;
    int code = 0;
    notes->text[0] = why->text[0] = '\0';
    if (choice == TOPOLOGY_HOST) return device_host_create(threads);
    const int visible = device_cuda_count(&reason);
    if (visible == 0)
        sentence_set(why, "run.device = cuda, but rank %d on %s sees no GPU: %s", t->rank, t->host,
                     reason ? reason : "none is visible");
    if (!agree_or_say(visible > 0, why, t->comm)) {
        if (choice == TOPOLOGY_CUDA) return NULL;
        if (topology_may_use_host(t, visible, reason, "run.device", notes))
            return device_host_create(threads);
        *why = *notes;
        return NULL;
    }

    const int ordinal = choose_gpu(t, visible);
    device *d = device_cuda_create(ordinal, &code);
    if (!d)
        sentence_set(why, "rank %d on %s cannot use GPU %d of the %d it sees: %s", t->rank, t->host, ordinal,
                     visible, device_cuda_error_text(code));
    if (!agree_or_say(d != NULL, why, t->comm)) device_destroy(&d);
    return d;
}

device *topology_device(topology *t, topology_choice choice, int threads, sentence *why, sentence *notes)
{
    device *d = make_device(t, choice, threads, why, notes);
    if (d) place(t, d, notes);
    return d;
}
