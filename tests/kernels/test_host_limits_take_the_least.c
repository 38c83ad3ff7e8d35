/* The least limit counts: the free memory of the machine, the cgroups of every level and version, the limits
 * of the process.
 * release: AddressSanitizer maps terabytes */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "device/host_limits.h"
#include "support/sanitized.h"

static char root[] = "/tmp/weft_limits.XXXXXX";

/* A made host: `files` are shell words "path=text" below the root; proc/meminfo says 1000 kB. */
static host_limits limits_of(const char *files)
{
    char command[4096], proc[64], sys[64];
    snprintf(command, sizeof command,
             "cd %s && rm -rf proc sys && mkdir -p proc/self sys/fs/cgroup && printf 'MemTotal: 9 "
             "kB\\nMemAvailable:  1000 kB\\n' >proc/meminfo"
             " && for f in %s; do mkdir -p $(dirname ${f%%%%=*}) && printf -- \"${f#*=}\" >${f%%%%=*} || "
             "exit; done",
             root, files);
    assert_int_equal(system(command), 0);
    snprintf(proc, sizeof proc, "%s/proc", root);
    snprintf(sys, sizeof sys, "%s/sys", root);
    return host_limits_read(proc, sys);
}

static void expect(const char *files, double kib, host_limit by, double cpus)
{
    const host_limits l = limits_of(files);
    if (l.free_bytes != kib * 1024 || l.by != by || l.cpus != cpus)
        fail_msg("%s: %g kB by the %s, %g CPUs", files, l.free_bytes / 1024, host_limit_name[l.by], l.cpus);
}

#define V2(path, name) "sys/fs/cgroup" path "/" name "="
#define NODE(number, cpus) "'sys/devices/system/node/node" number "/cpulist=" cpus "\\n' "
#define MEMORY(n, total, free)                                                               \
    "sys/devices/system/node/node" n "/meminfo=Node " n " MemTotal: " #total " kB\\nNode " n \
    " MemFree:  " #free " kB\\n"
#define V1(controller, path, name) "sys/fs/cgroup/" controller path "/" name "="

static void each_limit(void **state)
{
    /* the machine alone */
    expect("", 1000, HOST_LIMIT_MACHINE, INFINITY);
    expect("'proc/self/cgroup=0::/a\\n' "
           V2("/a", "memory.max") "max "
           V2("/a", "memory.current") "4096 '"
           V2("/a", "cpu.max") "max 100000'",
           1000, HOST_LIMIT_MACHINE, INFINITY);

    /* GH200: node 1 is a GPU's memory, nodes 2 and 3 are parts of it that are not there. */
    const char *const nodes = NODE("0", "0-71") NODE("2", "") NODE("3", "")
        NODE("1", "") " '" MEMORY("0", 9, 400) "' '" MEMORY("1", 6, 300) "' '" MEMORY("2", 0, 0) "'";
    expect(nodes, 700, HOST_LIMIT_MACHINE, INFINITY);
    assert_true(limits_of(nodes).total_bytes == 3 * 1024);
    expect(NODE("0", "0-3") "'" MEMORY("0", 9, 400) "'", 1000, HOST_LIMIT_MACHINE, INFINITY);
    expect(NODE("0", "") "'" MEMORY("0", 9, 2000) "'", 0, HOST_LIMIT_MACHINE, INFINITY);

    /* version 2, at every level */
    expect("'proc/self/cgroup=0::/job/step\\n' "
           V2("/job", "memory.max") "409600 "
           V2("/job", "memory.current") "204800 '"
           V2("/job", "memory.stat") "anon 5\\ninactive_file 1024\\n' '"
           V2("/job", "cpu.max") "150000 100000'",
           201, HOST_LIMIT_CGROUP, 1.5);
    expect("'proc/self/cgroup=0::/job/step\\n' "
           V2("/job/step", "memory.high") "10240 "
           V2("/job/step", "memory.max") "20480 "
           V2("/job/step", "memory.current") "5120",
           5, HOST_LIMIT_CGROUP, INFINITY);
    expect("'proc/self/cgroup=0::/job\\n' "
           V2("/job", "memory.max") "10240 "
           V2("/job", "memory.current") "20480",
           0, HOST_LIMIT_CGROUP, INFINITY);

    /* version 1, and a container whose path is not there */
    expect("'proc/self/cgroup=3:memory:/docker/f00/x\\n2:cpu,cpuacct:/docker/f00\\n1:name=systemd:/\\n' "
           V1("memory", "", "memory.limit_in_bytes") "10240 "
           V1("memory", "", "memory.usage_in_bytes") "6144 '"
           V1("memory", "", "memory.stat") "total_inactive_file 1024\\n' "
           V1("cpu,cpuacct", "/docker/f00", "cpu.cfs_quota_us") "300000 "
           V1("cpu,cpuacct", "/docker/f00", "cpu.cfs_period_us") "100000 "
           V1("cpu,cpuacct", "", "cpu.cfs_quota_us") "-1",
           5, HOST_LIMIT_CGROUP, 3);
    expect("'proc/self/cgroup=3:memory:/\\n' "
           V1("memory", "", "memory.limit_in_bytes") "9223372036854771712 "
           V1("memory", "", "memory.usage_in_bytes") "6144",
           1000, HOST_LIMIT_MACHINE, INFINITY);
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

static int make_root(void **state) { return mkdtemp(root) ? 0 : -1; }

static int remove_root(void **state)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(each_limit),
                                        cmocka_unit_test(limits_of_the_process) };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
