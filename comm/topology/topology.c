/* Hosts, local ranks and devices. Ranks of one host find each other by MPI_Comm_split_type, never by
 * comparing names; which of them share a GPU they find by its UUID, since the same GPU may have another
 * number in each process (CUDA_VISIBLE_DEVICES). */
#include "topology/topology.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include "core/fp.h"
#include "ranks/check.h"
#include "ranks/printable.h"

const char *const topology_choice_words[] = { "auto", "host", "cuda", NULL };

/* The MPI's own word; MPIs without such a question (MPICH) are taken to say no: then staging serves. */
#ifdef MPIX_CUDA_AWARE_SUPPORT
static bool mpi_claims_cuda(void) { return MPIX_Query_cuda_support() == 1; }
#else
static bool mpi_claims_cuda(void) { return false; }
#endif

/* "0-3,8": the CPUs that the scheduler may use for this process; of a longer list what there is room for. */
static void binding_list(char out[256])
{
    if (!sysfs_value(out, 256, "/proc/self/status", "Cpus_allowed_list")) strcpy(out, "unknown");
    if (strlen(out) == 255) *strrchr(out, ',') = '\0';
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
    *t = (topology){ .ranks_on_device = 1, .device_key = "run.device" };
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
    binding_list(t->binding);
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
    /* as many as run.threads allows: a team of 60,000 overflows libgomp's stack */
    if (getenv("OMP_NUM_THREADS")) return (int)fmin(omp_get_max_threads(), 4096);
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

/* Which of the GPUs that it sees this rank drives. Collective over the host. */
static int choose_gpu(const topology *t, int visible)
{
    char mine[DEVICE_UUID_BYTES] = "";
    char (*all)[DEVICE_UUID_BYTES] = CHECK_CALLOC(t->local_ranks, sizeof *all);
    device_cuda_uuid(0, mine);
    MPI_CHECK(ranks_allgather(mine, sizeof mine, all, t->where->mine));
    const int gpu = placement_turn(all, t->local_rank, visible);
    free(all);
    return gpu;
}

/* Debug builds: the GPU that this rank is to pretend to drive. */
static void pretend_gpu(const topology *t, placement_seat *mine, char pci[DEVICE_PCI_BYTES])
{
#ifdef WEFT_DEBUG
    const char *p = getenv("WEFT_PRETEND_GPUS");
    char word[DEVICE_PCI_BYTES];
    int number = 0, used = 0;
    for (int r = 0; r < t->rank; r++) number += t->where->of[r] == mine->host;
    for (; p && sscanf(p, "%15s%n", word, &used) == 1; p += used, mine->visible++)
        if (mine->visible == 0 || mine->visible == number) memcpy(pci, word, sizeof word);
    if (pci[0]) snprintf(mine->uuid, sizeof mine->uuid, "GPU-%s", pci);
#endif
}

/* The worst of all ranks' faults, whose sentences are in `wrong`, becomes `worst` and a note. Collective. */
static void note_worst(topology *t, placement_fault fault, sentence *notes)
{
    const int mine = (int)fault;
    sentence_set(&t->worst, "rank %d on %s: %s", t->rank, t->host, t->wrong.text);
    const int worst = agree_worst(mine, &t->worst, t->comm);
    int alike = mine == worst;
    if (worst == 0) t->worst.text[0] = '\0';
    if (worst == 0) return;
    MPI_CHECK(ranks_allreduce(&alike, 1, MPI_INT, MPI_SUM, t->comm));
    if (alike > 1) sentence_add(&t->worst, "; %d of %d ranks are placed like that", alike, t->ranks);
    sentence_add(notes, "%s%s", notes->text[0] ? "; " : "", t->worst.text);
}

/* CPUs that the cpuset leaves this thread, whatever a launcher bound it to. */
static int cpus_allowed(void)
{
    cpu_set_t bound, all;
    if (sched_getaffinity(0, sizeof bound, &bound) != 0) return 0;
    memset(&all, 0xff, sizeof all);
    (void)sched_setaffinity(0, sizeof all, &all);
    const int allowed = sched_getaffinity(0, sizeof all, &all) == 0 ? CPU_COUNT(&all) : 0;
    (void)sched_setaffinity(0, sizeof bound, &bound);
    return allowed;
}

static placement_seat seat_of(const topology *t, const device *d)
{
    placement_seat mine = { .host = t->where->of[t->rank],
                            .visible = d->kind == DEVICE_CUDA ? device_cuda_count(NULL) : 0,
                            .threads = d->kind == DEVICE_HOST ? d->threads : 1,
                            .allowed = cpus_allowed() };
    memcpy(mine.uuid, d->uuid, sizeof mine.uuid);
#pragma omp parallel num_threads(mine.threads)
    {
        cpu_set_t cpus;
        fp_default();
        if (sched_getaffinity(0, sizeof cpus, &cpus) == 0)
#pragma omp critical
            CPU_OR(&mine.cpus, &mine.cpus, &cpus);
    }
    return mine;
}

static void place(topology *t, const device *d, sentence *notes)
{
    cpu_set_t cpus;
    t->ranks_on_device = 1;
    if (WEFT_SIM) return; /* simulated ranks have no CPUs of their own */
    placement_seat mine = seat_of(t, d), *all = CHECK_CALLOC(t->local_ranks, sizeof *all);
    memcpy(t->pci, d->pci, sizeof t->pci);
    pretend_gpu(t, &mine, t->pci);
    /* more CPUs than a set holds */
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0) memset(&cpus, 0xff, sizeof cpus);
    placement_read(&t->at, sysfs_root(), t->pci, &cpus);
    MPI_CHECK(ranks_allgather(&mine, sizeof mine, all, t->where->mine));
    t->speaks_for_device = d->uuid[0] != '\0';
    for (int i = 0; i < t->local_rank; i++)
        t->speaks_for_device = t->speaks_for_device && strcmp(all[i].uuid, mine.uuid) != 0;
    note_worst(t, placement_judge(&t->at, all, t->local_ranks, t->local_rank, &t->ranks_on_device, &t->wrong),
               notes);
    free(all);
}

/* May a program that was asked for no device use the host, where not every rank sees a GPU? What gpu_rule_of
 * decides, of the rank whose case is worst. said: the reason of a no, the note that goes with a yes, or "".
 * Collective, the same answer on all ranks. */
static bool may_use_host(const topology *t, int visible, const char *reason, sentence *said)
{
    sentence why;
    gpu_facts f = { .built = device_cuda_built(), .visible = visible,
                    .elsewhere = agree_any(visible > 0, t->comm),
                    .reason = reason ? reason : "none is visible", .key = t->device_key };
    gpu_rule_look(&f);
    const int mine = (int)gpu_rule_of(&f, &why);
    sentence_set(said, "rank %d on %s: %s", t->rank, t->host, why.text);
    const int worst = agree_worst(mine, said, t->comm);
    if (worst <= GPU_RULE_HOST) said->text[0] = '\0';
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
        sentence_set(why, "%s = cuda, but rank %d on %s sees no GPU: %s", t->device_key, t->rank, t->host,
                     reason ? reason : "none is visible");
    if (!agree_or_say(visible > 0, why, t->comm)) {
        if (choice == TOPOLOGY_CUDA) return NULL;
        if (may_use_host(t, visible, reason, notes)) return device_host_create(threads);
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
    if (d) snprintf(d->name, sizeof d->name, "%s", printable_text(d->name)); /* the maker's bytes */
    if (d) place(t, d, notes);
    return d;
}
