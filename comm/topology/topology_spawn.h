/* A program started outside the MPI job of its parent: it finds no trace of the job in its environment and so
 * is an MPI program of its own (a singleton). Silent, and killed with all its children when its time is over.
 * Its TMPDIR is a folder of its own, which goes with it and with all that a crash left there. For comm/ and
 * io/. */
#pragma once

#include <stdbool.h>

typedef struct topology_spawn_end {
    enum {
        TOPOLOGY_SPAWN_EXITED,    /* code: exit status */
        TOPOLOGY_SPAWN_KILLED,    /* code: signal */
        TOPOLOGY_SPAWN_TIMED_OUT, /* code: 0 */
        TOPOLOGY_SPAWN_FAILED,    /* code: errno */
    } how;
    int code;
} topology_spawn_end;

topology_spawn_end topology_spawn(const char *exe, const char *argument, double limit_s);

/* Would a variable NAME=VALUE tell an MPI library that the process belongs to a job? What the user set for
 * the library (OMPI_MCA_btl, UCX_TLS) does not, and must reach the child: it decides what is probed. */
bool topology_spawn_is_job_variable(const char *variable);
