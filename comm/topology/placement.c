/* Which GPU a rank has, or why it has none; nothing here asks MPI or CUDA.
 *
 * The place of a GPU is read from some small files of sysfs: about 1 ms. (hwloc would tell the same after a
 * discovery of the whole machine on every rank, which loads plugins and reads the configuration of each PCI
 * function: on a virtual machine 4 ms of CPU time, and 1.1 ms more for each function.) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "topology/topology.h"

/* Is one of the CPUs of the list in the set? */
static bool meets(const char *list, const cpu_set_t *set)
{
    cpu_set_t both = sysfs_cpus(list);
    CPU_AND(&both, &both, set);
    return CPU_COUNT(&both) > 0;
}

void placement_read(placement *p, const char *sysfs, const char *pci, const cpu_set_t *cpus)
{
    enum { NODES_MAX = 256 };
    char text[1024];
    size_t used = 0;
    *p = (placement){ .near_node = -1 };
    for (int node = 0; node < NODES_MAX && used + 8 < sizeof p->nodes; node++)
        if (sysfs_read(text, sizeof text, "%s/devices/system/node/node%d/cpulist", sysfs, node) &&
            meets(text, cpus))
            used += (size_t)snprintf(p->nodes + used, sizeof p->nodes - used, "%s%d", used ? "," : "", node);
    if (!pci[0]) return;
    if (sysfs_read(text, sizeof text, "%s/bus/pci/devices/%s/numa_node", sysfs, pci))
        p->near_node = atoi(text);
    if (!sysfs_read(text, sizeof text, "%s/bus/pci/devices/%s/local_cpulist", sysfs, pci)) return;
    snprintf(p->near_cpus, sizeof p->near_cpus, "%.127s", text);
    p->far = text[0] && !meets(text, cpus);
}

/* ---- who drives what ---- */

static bool is_same(const placement_seat *a, const placement_seat *b)
{
    return a->host == b->host && strcmp(a->uuid, b->uuid) == 0;
}

/* Adds how many threads share the CPUs of a rank where they are too many, and what binds them where more
 * CPUs are left. */
static bool is_crowded(const placement_seat *all, int ranks, int me, sentence *words)
{
    cpu_set_t together = all[me].cpus, common;
    int sharing = 0, threads = 0;
    for (int i = 0; i < ranks; i++) {
        CPU_AND(&common, &all[i].cpus, &all[me].cpus);
        if (CPU_COUNT(&common) == 0) continue;
        CPU_OR(&together, &together, &all[i].cpus);
        threads += all[i].threads;
        sharing++;
    }
    const int cpus = CPU_COUNT(&together);
    if (threads <= cpus) return false;
    sentence_add(words, "%s%d threads of %d rank%s share %d of %d CPUs%s", words->text[0] ? "; " : "",
                 threads, sharing, sharing == 1 ? "" : "s", cpus, all[me].allowed,
                 cpus >= all[me].allowed
                     ? ""
                     : ": OMP_PROC_BIND or the launcher binds them there (mpirun --bind-to none, srun "
                       "--cpus-per-task give a rank more)");
    return true;
}

placement_fault placement_judge(const placement *p, const placement_seat *all, int ranks, int me,
                                int *sharers, sentence *words)
{
    placement_fault worst = PLACEMENT_RIGHT;
    int here = 0, gpus = 0,
        same = 0; /* ranks of the host; different GPUs that they drive; ranks on its own */
    words->text[0] = '\0';
    for (int i = 0; i < ranks; i++) {
        int first = 0;
        while (!is_same(&all[first], &all[i])) first++;
        here += all[i].host == all[me].host;
        gpus += all[i].host == all[me].host && first == i;
        same += is_same(&all[i], &all[me]);
    }
    *sharers = all[me].uuid[0] ? same : 1;
    if (*sharers > 1) {
        worst = PLACEMENT_SHARED;
        sentence_set(words, "%d ranks take turns on its GPU%s", *sharers,
                     all[me].visible == 1 ? ", the only one that it sees" : "");
    }
    if (all[me].visible == 1 && gpus > 1) {
        if (!worst) worst = PLACEMENT_SEES_ONE;
        sentence_add(
            words,
            "%ssees one of the host's %d or more GPUs, which may end peer memory: srun --ntasks-per-node=%d "
            "--gpus-per-node=%d --gpu-bind=none shows all to all (without Slurm: one CUDA_VISIBLE_DEVICES "
            "for all ranks)",
            words->text[0] ? "; " : "", gpus, here, gpus);
    }
    if (p->far) {
        if (!worst) worst = PLACEMENT_FAR;
        sentence_add(words,
                     "%sbound to cores of NUMA node %s, far from its GPU on node %d: bind it to cores %s",
                     words->text[0] ? "; " : "", p->nodes[0] ? p->nodes : "unknown", p->near_node,
                     p->near_cpus);
    }
    return is_crowded(all, ranks, me, words) && !worst ? PLACEMENT_CROWDED : worst;
}

int placement_turn(char (*first)[DEVICE_UUID_BYTES], int rank, int visible)
{
    int before = 0;
    for (int r = 0; r < rank; r++) before += strcmp(first[r], first[rank]) == 0;
    return before % visible;
}

/* ---- the host, or a GPU ---- */

void gpu_rule_look(gpu_facts *f)
{
    /* the last one counts GPUs, the others name them: "0" names one, but counts none */
    static const char *const variables[] = { "CUDA_VISIBLE_DEVICES", "SLURM_STEP_GPUS", "SLURM_JOB_GPUS",
                                             "SLURM_GPUS_ON_NODE" };
    enum { VARIABLES = sizeof variables / sizeof *variables, DEVICE_FILES = 32 };
    const char *shown = getenv(variables[0]);
    f->hidden = shown && device_cuda_none_named(shown);
    f->given[0] = f->file[0] = '\0';
    for (int i = 0; i < VARIABLES && !f->given[0]; i++) {
        const char *text = getenv(variables[i]);
        const bool none = !text || device_cuda_none_named(text);
        if (!none && !(i == VARIABLES - 1 && strcmp(text, "0") == 0))
            snprintf(f->given, sizeof f->given, "%s = %.80s", variables[i], text);
    }
    for (int i = 0; i < DEVICE_FILES && !f->file[0]; i++) {
        snprintf(f->file, sizeof f->file, "/dev/nvidia%d", i);
        if (access(f->file, F_OK) != 0) f->file[0] = '\0';
    }
}

gpu_rule gpu_rule_of(const gpu_facts *f, sentence *why)
{
    const char *seen = f->elsewhere ? "a GPU that another rank sees" : f->file;
    /* hidden from all ranks they are not wished for; from one of them alone that is a slip */
    const char *there = f->given[0] ? f->given : f->hidden && !f->elsewhere ? "" : seen;
    why->text[0] = '\0';
    if (f->visible > 0) return GPU_RULE_CUDA;
    if (!f->built && !there[0]) return GPU_RULE_HOST;
    if (!f->built)
        sentence_set(why, "this build has no CUDA (make CUDA=1), but there is %s: the run uses the host",
                     there);
    else if (!there[0])
        sentence_set(why, "no GPU: %s; the run uses the host",
                     f->hidden ? "CUDA_VISIBLE_DEVICES hides them" : f->reason);
    else
        sentence_set(why, "no GPU can be used (%s), but there is %s; %s=host runs without", f->reason, there,
                     f->key);
    return f->built && there[0] ? GPU_RULE_REFUSE : GPU_RULE_HOST_SAID;
}
