/* Which GPU a rank has, or why it has none; nothing here asks MPI or CUDA.
 *
 * The place of a GPU is read from some small files of sysfs: about 1 ms. (hwloc would tell the same after a
 * discovery of the whole machine on every rank, which loads plugins and reads the configuration of each PCI
 * function: on a virtual machine 4 ms of CPU time, and 1.1 ms more for each function.) */
#include "topology/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    char text[1024], devices[SYSFS_PATH_BYTES];
    size_t used = 0;
    *p = (placement){ .near_node = -1 };
    for (int node = 0; node < NODES_MAX && used + 8 < sizeof p->nodes; node++)
        if (sysfs_read(text, sizeof text, "%s/devices/system/node/node%d/cpulist", sysfs, node) &&
            meets(text, cpus))
            used += (size_t)snprintf(p->nodes + used, sizeof p->nodes - used, "%s%d", used ? "," : "", node);
    snprintf(devices, sizeof devices, "%s/bus/pci/devices", sysfs);
    if (!pci[0] || !sysfs_resolve(p->path, devices, pci)) return;
    if (sysfs_read(text, sizeof text, "%s/numa_node", p->path)) p->near_node = atoi(text);
    if (!sysfs_read(text, sizeof text, "%s/local_cpulist", p->path)) return;
    snprintf(p->near_cpus, sizeof p->near_cpus, "%.127s", text);
    p->far = text[0] && !meets(text, cpus);
}

typedef struct host_use {
    int ranks, gpus; /* of the host; different GPUs that they drive */
    int visible;     /* most that one of them sees */
    int sharers;     /* ranks on the same GPU as `me`, itself included */
    bool first;      /* no rank of the host is before `me` */
} host_use;

static host_use count_use(const placement_gpu *all, int ranks, int me)
{
    host_use u = { .first = true };
    for (int i = 0; i < ranks; i++) {
        bool again = false;
        if (all[i].host != all[me].host) continue;
        for (int j = 0; j < i && !again; j++)
            again = all[j].host == all[i].host && strcmp(all[j].uuid, all[i].uuid) == 0;
        u.ranks++;
        u.gpus += !again;
        if (all[i].visible > u.visible) u.visible = all[i].visible;
        u.sharers += strcmp(all[i].uuid, all[me].uuid) == 0;
        u.first = u.first && i >= me;
    }
    return u;
}

static const char *gap(const sentence *words) { return words->text[0] ? "; " : ""; }

placement_fault placement_judge(const placement *p, const placement_gpu *all, int ranks, int me, int *sharers,
                                sentence *words)
{
    placement_fault worst = PLACEMENT_RIGHT;
    *sharers = 1;
    words->text[0] = '\0';
    if (!all[me].uuid[0]) return PLACEMENT_RIGHT;
    const host_use u = count_use(all, ranks, me);
    const int idle = u.visible - u.gpus;
    *sharers = u.sharers;
    if (u.sharers > 1) {
        worst = PLACEMENT_SHARED;
        sentence_set(words, "%d ranks take turns on its GPU%s", u.sharers,
                     all[me].visible == 1 ? ", the only one that it sees" : "");
    }
    if (all[me].visible == 1 && u.gpus > 1) {
        if (!worst) worst = PLACEMENT_SEES_ONE;
        sentence_add(
            words,
            "%ssees one of the host's %d or more GPUs, which may end peer memory: srun --ntasks-per-node=%d "
            "--gpus-per-node=%d --gpu-bind=none shows all to all (without Slurm: one CUDA_VISIBLE_DEVICES "
            "for all ranks)",
            gap(words), u.gpus, u.ranks, u.gpus);
    }
    if (p->far) {
        if (!worst) worst = PLACEMENT_FAR;
        sentence_add(words,
                     "%sbound to cores of NUMA node %s, far from its GPU on node %d: bind it to cores %s",
                     gap(words), p->nodes[0] ? p->nodes : "unknown", p->near_node, p->near_cpus);
    }
    if (idle > 0 && (u.first || u.sharers > 1)) {
        if (!worst) worst = PLACEMENT_IDLE;
        sentence_add(words, "%s%d GPU%s of the host without a rank", gap(words), idle, idle == 1 ? "" : "s");
    }
    return worst;
}

/* ---- the host, or a GPU ---- */

/* Names of GPUs, and numbers of them: "0" names one, but counts none. */
static const struct {
    const char *name;
    bool counts;
} variables[] = {
    { "CUDA_VISIBLE_DEVICES", false }, { "SLURM_STEP_GPUS", false },    { "SLURM_JOB_GPUS", false },
    { "SLURM_GPUS_ON_NODE", true },    { "SLURM_GPUS", true },          { "SLURM_GPUS_PER_NODE", true },
    { "SLURM_GPUS_PER_TASK", true },   { "SLURM_GPUS_PER_SOCKET", true },
};

enum { DEVICE_FILES = 32 };

/* "0", or "a100:0" */
static bool counts_none(const char *text)
{
    const char *colon = strrchr(text, ':');
    return strcmp(colon ? colon + 1 : text, "0") == 0;
}

void gpu_rule_look(gpu_facts *f, char *(*get)(const char *name), const char *dev)
{
    const char *shown = get("CUDA_VISIBLE_DEVICES");
    f->hidden = shown && device_cuda_none_named(shown);
    f->given[0] = f->file[0] = '\0';
    for (size_t i = 0; i < sizeof variables / sizeof *variables && !f->given[0]; i++) {
        const char *text = get(variables[i].name);
        if (text && !device_cuda_none_named(text) && !(variables[i].counts && counts_none(text)))
            snprintf(f->given, sizeof f->given, "%s = %.80s", variables[i].name, text);
    }
    for (int i = 0; i < DEVICE_FILES; i++) {
        snprintf(f->file, sizeof f->file, "%.16s/nvidia%d", dev, i);
        if (access(f->file, F_OK) == 0) return;
    }
    f->file[0] = '\0';
}

gpu_rule gpu_rule_of(const gpu_facts *f, sentence *why)
{
    const char *seen = f->file[0] ? f->file : f->elsewhere ? "a GPU that another rank sees" : "";
    const char *there = f->given[0] ? f->given : f->hidden ? "" : seen;
    why->text[0] = '\0';
    if (f->visible > 0) return GPU_RULE_CUDA;
    if (f->with && (f->given[0] || !f->hidden)) {
        sentence_set(
            why,
            "GPUs can be used on %s, but not on %s (%s): start on hosts that all have GPUs, or with %s=host",
            f->with, f->without, f->reason, f->key);
        return GPU_RULE_REFUSE;
    }
    if (!f->built) {
        if (!there[0]) return GPU_RULE_HOST;
        sentence_set(why, "this build has no CUDA (make CUDA=1), but there is %s: the run uses the host",
                     there);
        return GPU_RULE_HOST_SAID;
    }
    if (!there[0]) {
        sentence_set(why, "no GPU: %s; the run uses the host",
                     f->hidden ? "CUDA_VISIBLE_DEVICES hides them" : f->reason);
        return GPU_RULE_HOST_SAID;
    }
    sentence_set(why, "no GPU can be used (%s), but there is %s; %s=host runs without", f->reason, there,
                 f->key);
    return GPU_RULE_REFUSE;
}
