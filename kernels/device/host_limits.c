/* /proc/self/cgroup names the group of the process in each hierarchy: "4:memory:/job_7/step_0" (v1),
 * "0::/job_7/step_0" (v2). The files of that group, and of each group above it, stand below /sys/fs/cgroup.
 * In a container that path may not exist, but the container's own group is the root that is mounted there: a
 * walk from the path up to the root finds either. File caches that the kernel gives back on demand
 * (inactive_file) count as free, as they do in MemAvailable. */
#include "device/host_limits.h"

#include <glob.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "device/sysfs.h"

const char *const host_limit_name[HOST_LIMITS] = { "machine", "cgroup", "ulimit" };

/* The number behind a key at the beginning of a line; NAN: no such line. */
static double number_in(const char *folder, const char *name, const char *key)
{
    char file[PATH_MAX + 16], text[64];
    snprintf(file, sizeof file, "%s/%s", folder, name);
    return sysfs_value(text, sizeof text, file, key) ? strtod(text, NULL) : NAN;
}

/* The file of a group as a number; INFINITY where it does not exist or says "max". */
static double limit_in(const char *group, const char *name)
{
    char text[64];
    return sysfs_read(text, sizeof text, "%s/%s", group, name) && text[0] != 'm' ? strtod(text, NULL)
                                                                                 : INFINITY;
}

/* A group's limits by the files of both versions: a file that is not there limits nothing. */
static void take(host_limits *l, const char *group)
{
    char text[64];
    double quota_us = limit_in(group, "cpu.cfs_quota_us"), period_us = limit_in(group, "cpu.cfs_period_us");
    const double most_bytes = fmin(limit_in(group, "memory.max"), limit_in(group, "memory.high")),
                 limit_bytes = fmin(limit_in(group, "memory.limit_in_bytes"), most_bytes);
    const double used_v1_bytes = limit_in(group, "memory.usage_in_bytes"),
                 used_bytes = fmin(used_v1_bytes, limit_in(group, "memory.current"));
    const char *const cached = isfinite(used_v1_bytes) ? "total_inactive_file " : "inactive_file ";
    const double cached_bytes = number_in(group, "memory.stat", cached),
                 left_bytes = limit_bytes - used_bytes + (cached_bytes > 0 ? cached_bytes : 0);
    if (isfinite(used_bytes) && left_bytes < l->free_bytes) {
        l->free_bytes = fmax(left_bytes, 0);
        l->by = HOST_LIMIT_CGROUP;
    }
    if (sysfs_read(text, sizeof text, "%s/cpu.max", group))
        (void)sscanf(text, "%lf %lf", &quota_us, &period_us);
    if (quota_us > 0 && isfinite(quota_us)) l->cpus = fmin(l->cpus, quota_us / period_us);
}

/* The group at folder/path and all above it. */
static void take_groups(host_limits *l, const char *folder, const char *path)
{
    char group[PATH_MAX];
    const int root = snprintf(group, sizeof group, "%s", folder);
    if (snprintf(group, sizeof group, "%s%s", folder, path) >= (int)sizeof group) return;
    for (char *end = group + strlen(group);; end = strrchr(group, '/')) {
        *end = '\0';
        take(l, group);
        if (end <= group + root) return;
    }
}

static void take_hierarchies(host_limits *l, const char *proc, const char *sys)
{
    char line[PATH_MAX], folder[PATH_MAX], name[PATH_MAX];
    snprintf(name, sizeof name, "%s/self/cgroup", proc);
    FILE *file = fopen(name, "r");
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path) continue;
        *path++ = '\0';
        snprintf(folder, sizeof folder, "%s/fs/cgroup%s%s", sys, controllers[1] ? "/" : "", controllers + 1);
        take_groups(l, folder, path);
    }
    if (file) (void)fclose(file);
}

/* A node's figure in its meminfo, "Node 1 MemTotal:  6 kB"; 0: it has none. */
static double node_bytes(const char *folder, const char *key)
{
    char line[64];
    snprintf(line, sizeof line, "Node %s %s:", strrchr(folder, '/') + strlen("/node"), key);
    return fmax(number_in(folder, "meminfo", line) * 1024, 0);
}

/* The NUMA nodes without CPUs, whose memory is that of GPUs (GH200), are no part of the host's. */
static void leave_out_gpus(host_limits *l, const char *sys)
{
    char pattern[PATH_MAX], cpus[8];
    glob_t nodes = { 0 };
    snprintf(pattern, sizeof pattern, "%s/devices/system/node/node[0-9]*", sys);
    (void)glob(pattern, GLOB_NOSORT, NULL, &nodes);
    for (size_t i = 0; i < nodes.gl_pathc; i++) {
        const char *const folder = nodes.gl_pathv[i];
        if (!sysfs_read(cpus, sizeof cpus, "%s/cpulist", folder) || cpus[0]) continue;
        l->total_bytes -= node_bytes(folder, "MemTotal");
        l->free_bytes -= node_bytes(folder, "MemFree");
    }
    globfree(&nodes);
    l->free_bytes = fmax(l->free_bytes, 0);
}

static double own_bytes(int resource, double used_pages)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return INFINITY;
    return fmax((double)limit.rlim_cur - used_pages * (double)sysconf(_SC_PAGESIZE), 0);
}

host_limits host_limits_read(const char *proc, const char *sys)
{
    char text[128];
    double all_pages = 0, data_pages = 0;
    host_limits l = { .total_bytes = number_in(proc, "meminfo", "MemTotal:") * 1024,
                      .free_bytes = number_in(proc, "meminfo", "MemAvailable:") * 1024,
                      .cpus = INFINITY };
    leave_out_gpus(&l, sys);
    if (sysfs_read(text, sizeof text, "%s/self/statm", proc))
        (void)sscanf(text, "%lf %*s %*s %*s %*s %lf", &all_pages, &data_pages);
    l.own_bytes = fmin(own_bytes(RLIMIT_AS, all_pages), own_bytes(RLIMIT_DATA, data_pages));
    take_hierarchies(&l, proc, sys);
    return l;
}

host_limits host_limits_here(void) { return host_limits_read("/proc", sysfs_root()); }
