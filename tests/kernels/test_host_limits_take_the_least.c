/* The least limit counts: the free memory of the machine, the cgroups of every level and version, the limits
 * of the process.
 * release: AddressSanitizer maps terabytes */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "device/host_limits.h"
#include "support/sanitized.h"
#include "support/unit.h"

/* A made host: `files` are shell words "path=text" below a folder; proc/meminfo says 1000 kB. */
static host_limits limits_of(const char *files)
{
    char root[] = "/tmp/weft_limits.XXXXXX", command[4096], proc[64], sys[64];
    assert_non_null(mkdtemp(root));
    snprintf(command, sizeof command,
             "cd %s && mkdir -p proc/self sys/fs/cgroup && printf 'MemTotal: 9 kB\\nMemAvailable:  1000 "
             "kB\\n' >proc/meminfo && for f in %s; do mkdir -p $(dirname ${f%%%%=*}) && "
             "printf -- \"${f#*=}\" >${f%%%%=*} || exit; done",
             root, files);
    assert_int_equal(system(command), 0);
    snprintf(proc, sizeof proc, "%s/proc", root);
    snprintf(sys, sizeof sys, "%s/sys", root);
    const host_limits l = host_limits_read(proc, sys);
    snprintf(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0);
    return l;
}

#define GROUP "sys/fs/cgroup/"
#define NODE(n, cpus) "'sys/devices/system/node/node" n "/cpulist=" cpus "\\n' "
#define MEMORY(n, total, free)                                                  \
    "'sys/devices/system/node/node" n "/meminfo=Node " n " MemTotal: " total    \
    "\\nNode " n " MemFree: " free "'"

static const struct {
    const char *files;
    double free_kib, total_kib;
    host_limit by;
    double cpus;
} hosts[] = {
    { "", 1000, 9, HOST_LIMIT_MACHINE, INFINITY },
    { "proc/self/cgroup=0::/a " GROUP "a/memory.max=max " GROUP "a/memory.current=4096 '" GROUP
      "a/cpu.max=max 100000'",
      1000, 9, HOST_LIMIT_MACHINE, INFINITY },
    /* GH200: node 1 is a GPU's memory, nodes 2 and 3 are parts of it that are not there. */
    { NODE("0", "0-71") NODE("2", "") NODE("3", "") NODE("1", "") MEMORY("0", "9", "400") " "
      MEMORY("1", "6", "300") " " MEMORY("2", "0", "0"),
      700, 3, HOST_LIMIT_MACHINE, INFINITY },
    { NODE("0", "0-3") MEMORY("0", "9", "400"), 1000, 9, HOST_LIMIT_MACHINE, INFINITY },
    { NODE("0", "") MEMORY("0", "9", "2000"), 0, 0, HOST_LIMIT_MACHINE, INFINITY },
    /* version 2, at every level */
    { "proc/self/cgroup=0::/job/step " GROUP "job/memory.max=409600 " GROUP
      "job/memory.current=204800 '" GROUP "job/memory.stat=anon 5\\ninactive_file 1024' '" GROUP
      "job/cpu.max=150000 100000'",
      201, 9, HOST_LIMIT_CGROUP, 1.5 },
    { "proc/self/cgroup=0::/job/step " GROUP "job/step/memory.high=10240 " GROUP
      "job/step/memory.max=20480 " GROUP "job/step/memory.current=5120",
      5, 9, HOST_LIMIT_CGROUP, INFINITY },
    { "proc/self/cgroup=0::/job " GROUP "job/memory.max=10240 " GROUP "job/memory.current=20480",
      0, 9, HOST_LIMIT_CGROUP, INFINITY },
    /* version 1, and a container whose path is not there */
    { "'proc/self/cgroup=3:memory:/docker/f00/x\\n2:cpu,cpuacct:/docker/f00\\n1:name=systemd:/' " GROUP
      "memory/memory.limit_in_bytes=10240 " GROUP "memory/memory.usage_in_bytes=6144 '" GROUP
      "memory/memory.stat=total_inactive_file 1024' " GROUP
      "cpu,cpuacct/docker/f00/cpu.cfs_quota_us=300000 " GROUP
      "cpu,cpuacct/docker/f00/cpu.cfs_period_us=100000 " GROUP "cpu,cpuacct/cpu.cfs_quota_us=-1",
      5, 9, HOST_LIMIT_CGROUP, 3 },
    { "proc/self/cgroup=3:memory:/ " GROUP "memory/memory.limit_in_bytes=9223372036854771712 " GROUP
      "memory/memory.usage_in_bytes=6144",
      1000, 9, HOST_LIMIT_MACHINE, INFINITY },
};

static void each_limit(void **state)
{
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        const host_limits l = limits_of(hosts[i].files);
        if (l.free_bytes != hosts[i].free_kib * 1024 || l.total_bytes != hosts[i].total_kib * 1024 ||
            l.by != hosts[i].by || l.cpus != hosts[i].cpus)
            fail_msg("%s: %g of %g kB by the %s, %g CPUs", hosts[i].files, l.free_bytes / 1024,
                     l.total_bytes / 1024, host_limit_name[l.by], l.cpus);
    }
}

static void limits_of_the_process(void **state)
{
    if (SANITIZED) skip(); /* AddressSanitizer maps terabytes */
    const int resource[] = { RLIMIT_AS, RLIMIT_DATA };
    assert_true(host_limits_read("/proc", "/sys").own_bytes == INFINITY);
    for (int i = 0; i < 2; i++) {
        struct rlimit was, small;
        assert_int_equal(getrlimit(resource[i], &was), 0);
        small = was;
        small.rlim_cur = (rlim_t)1 << 32;
        assert_int_equal(setrlimit(resource[i], &small), 0);
        const double own_bytes = host_limits_read("/proc", "/sys").own_bytes;
        assert_true(own_bytes > 0x1p31 && own_bytes < 0x1p32);
        assert_int_equal(setrlimit(resource[i], &was), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(each_limit),
                                        cmocka_unit_test(limits_of_the_process) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
