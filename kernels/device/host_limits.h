/* The host's memory and CPUs that the machine and the job leave to this process, by the least of all limits.
 *
 * Control groups (cgroup v1 and v2) hold a job: its own group and all above it. Limits of its own (ulimit -v,
 * -d) hold a process. A reading opens some ten small files per level of groups, and two per NUMA node. */
#pragma once

typedef enum host_limit {
    HOST_LIMIT_MACHINE, /* MemAvailable of /proc/meminfo, without the free memory of NUMA nodes that have
                         * no CPUs */
    HOST_LIMIT_CGROUP,
    HOST_LIMIT_PROCESS, /* RLIMIT_AS, RLIMIT_DATA */
    HOST_LIMITS
} host_limit;

extern const char *const host_limit_name[HOST_LIMITS]; /* "cgroup" */

typedef struct host_limits {
    double total_bytes; /* of the machine, without that of such nodes */
    double free_bytes;  /* that may still be taken by all processes that share `by`, the machine or a
                         * cgroup */
    host_limit by;
    double own_bytes; /* that this process may still take, by its own limits; INFINITY: it has none */
    double cpus;      /* whose time the cgroups' quotas give to all their processes; INFINITY: no quota */
} host_limits;

/* Read anew at each call. */
host_limits host_limits_here(void);
/* proc, sys: folders that stand for /proc and /sys. A file that is missing or unreadable limits nothing. */
host_limits host_limits_read(const char *proc, const char *sys);
