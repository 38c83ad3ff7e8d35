/* A file descriptor that another process of this host may take (pidfd_getfd, Linux 5.6): plain bytes, sent as
 * they are. No socket is needed; where the kernel forbids it (a container's seccomp filter, Yama's
 * ptrace_scope of 2 or 3) it is refused. */
#pragma once

#include <stdint.h>

#include "core/linkage.h"

LINKAGE_C_BEGIN

typedef struct passed_fd {
    int fd, pid;
    uint64_t numbering; /* of processes: the boot of the kernel and the PID namespace; 0: it cannot be told */
} passed_fd;

/* The descriptor is this offer's from now on; done, once everybody has taken it, closes it. One offer at a
 * time: until then processes of this user may trace this one, where Yama would forbid that. */
passed_fd passed_fd_offer(int fd);
void passed_fd_done(const passed_fd *p);
/* The same file in this process, to be closed by the caller; -1 with errno: refused, or no process here has
 * that number. */
int passed_fd_take(const passed_fd *p);

LINKAGE_C_END
