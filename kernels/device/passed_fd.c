#include "device/passed_fd.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "device/sysfs.h"

/* SYS_pidfd_open and SYS_pidfd_getfd, which headers before Linux 5.6 lack, and kernels refuse. */
enum { PIDFD_OPEN = 434, PIDFD_GETFD = 438 };

/* The same number means the same process for two that agree in this: all namespaces that a boot begins with
 * have one inode. */
static uint64_t numbering(void)
{
    struct stat space;
    char boot[64]; /* "8f1c2a0b-..." */
    if (!sysfs_read(boot, sizeof boot, "/proc/sys/kernel/random/boot_id")) return 0;
    if (stat("/proc/self/ns/pid", &space) != 0) return 0;
    return (uint64_t)strtoul(boot, NULL, 16) << 32 | (uint32_t)space.st_ino;
}

passed_fd passed_fd_offer(int fd)
{
    (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); /* Yama's ptrace_scope of 1 asks for it; kernels
                                                      * without Yama refuse it */
    return (passed_fd){ fd, (int)getpid(), numbering() };
}

void passed_fd_done(const passed_fd *p)
{
    if (p->fd >= 0) (void)close(p->fd);
    (void)prctl(PR_SET_PTRACER, 0);
}

int passed_fd_take(const passed_fd *p)
{
    errno = ESRCH;
    if (!p->numbering || p->numbering != numbering()) return -1;
    const int process = (int)syscall(PIDFD_OPEN, p->pid, 0);
    const int taken = process < 0 ? -1 : (int)syscall(PIDFD_GETFD, process, p->fd, 0);
    const int why = errno;
    if (process >= 0) (void)close(process);
    errno = why;
    return taken;
}
