/* A rank's place: its host, its number there, the device it drives, and what this MPI can do with it. */
#pragma once

#include <mpi.h>
#include <sched.h>
#include <stdbool.h>

#include "core/sentence.h"
#include "device/device.h"
#include "device/host_limits.h"
#include "device/sysfs.h"
#include "ranks/ranks.h"

/* The place of a rank's GPU, the cores near to it, and those that the rank may use. */
typedef struct placement {
    char near_cpus[128]; /* of the GPU: "0-31,64-95"; "": unknown, or no GPU */
    int near_node;       /* its NUMA node; -1 */
    char nodes[64];      /* NUMA nodes with CPUs that the rank may use: "0,1" */
    bool far;            /* the rank may use none of near_cpus */
} placement;

typedef enum topology_choice { TOPOLOGY_AUTO, TOPOLOGY_HOST, TOPOLOGY_CUDA } topology_choice;
extern const char *const topology_choice_words[]; /* as typed; NULL ends them */

typedef struct topology {
    MPI_Comm comm; /* a duplicate of ranks_world with MPI_ERRORS_RETURN; owned */
    int rank, ranks;
    int local_rank, local_ranks; /* on this host */
    int hosts;                   /* how many; */
    hosts *where;                /* which ranks they have; owned */
    int ranks_on_device;         /* ranks of this host that drive the same GPU, this one included (1 on the
                                  * host device) */
    bool speaks_for_device;      /* the first of them, where sums count each GPU once; none on the host
                                  * device */
    int thread_level;            /* what MPI_Init_thread gave; -1 without MPI */
    char host[64];
    char binding[256];           /* the CPUs this process may use, as a list "0-15" */
    const char *device_key;      /* what a user sets for it, in sentences: "run.device", unless set anew */
    placement at;                /* these and the next three: topology_device sets them */
    char pci[DEVICE_PCI_BYTES];  /* the address of its GPU; "" on the host device */
    sentence wrong, worst;       /* with its own placement; with that of all ranks, which a run tells; ""
                                  * nothing */
    char mpi_version[256];
    bool mpi_claims_cuda;        /* its own word; topology_probe_aware finds out */
} topology;

/* Collective. Call after ranks_begin. */
void topology_create(topology *t);
void topology_destroy(topology *t);

/* The first line of what the MPI library calls itself; MPI need not be started. */
void topology_mpi_version(char *out, size_t bytes);

/* OpenMP threads of a rank: asked, where that is not 0; else OMP_NUM_THREADS; else this rank's share of the
 * CPUs that it may use, where the host's ranks may all use the same, and of the time that their cgroup's
 * quota gives. */
int topology_threads(const topology *t, int asked);

/* Bytes of the device's memory that this rank may fill: its share of what is free. On the host, cgroups and
 * the process's own limits hold too; *by is the limit that leaves least. */
double topology_free_bytes(const topology *t, device *d, host_limit *by);

/* The device of this rank: with `auto`, CUDA where a GPU is visible on every rank, else what gpu_rule_of
 * decides: the host, with a note, or nothing. Ranks of a host take its GPUs in turns (placement_turn); two
 * ranks may share one. Collective. Returns NULL on all ranks, with a sentence in why, when CUDA was asked for
 * and some rank has none, or when GPUs that are there cannot be used (exit 3). notes gets what a user should
 * know (the host for want of a GPU, or t->worst), "" otherwise. Debug builds: WEFT_PRETEND_GPUS, PCI
 * addresses for the ranks of a host in turn, places ranks on the host device as if they drove GPUs there. */
device *topology_device(topology *t, topology_choice choice, int threads, sentence *why, sentence *notes);

/* May device buffers be given to MPI here? First by MPI's own word, then by a child process of its own per
 * host that sends itself device buffers (a crash there is only the child's), then over the real ranks with
 * the data checked. Collective, the same answer everywhere; never crashes the caller. why says the reason of
 * a no. exe: what the child runs with the single argument TOPOLOGY_PROBE_ARGUMENT: TOPOLOGY_SELF_EXE, but in
 * tests. */
#define TOPOLOGY_PROBE_ARGUMENT "--probe-aware"
#define TOPOLOGY_SELF_EXE "/proc/self/exe" /* a child that has not yet become another program is this one */
bool topology_probe_aware(const topology *t, device *d, const char *exe, sentence *why);
/* The child's main: initialises MPI alone, sends device buffers to itself, returns the exit status (0: data
 * arrived); ends after 15 s at the latest. */
int topology_probe_child(void);

/* Runs a program outside the MPI job: it finds no trace of the job in its environment and so is an MPI
 * program of its own (a singleton). Silent. Its TMPDIR is a folder of its own, which goes with it and with
 * all that a crash left there. Returns whether it ended with status 0; how it ended is a part of a sentence:
 * "ended with status 1". */
bool topology_spawn(const char *exe, const char *argument, sentence *how);

/* ---- who drives what on a host, and what is wrong with that (placement.c) ---- */

/* The place of the GPU at that PCI address ("" none), for a rank that may use these CPUs. sysfs:
 * sysfs_root(). */
void placement_read(placement *p, const char *sysfs, const char *pci, const cpu_set_t *cpus);

typedef struct placement_seat {   /* what a rank tells the others on its machine; plain bytes */
    int host;                     /* its host's number */
    int visible;                  /* GPUs that the rank sees */
    char uuid[DEVICE_UUID_BYTES]; /* of the one that it drives; "" on the host device */
    cpu_set_t cpus;               /* that its threads may use, as they are bound; */
    int threads;                  /* of a GPU's rank one */
    int allowed;                  /* CPUs that it could be given here */
} placement_seat;

/* From the least to the worst. Crowded: more threads than there are CPUs share the CPUs of a rank. */
typedef enum placement_fault {
    PLACEMENT_RIGHT,
    PLACEMENT_CROWDED,
    PLACEMENT_FAR,
    PLACEMENT_SEES_ONE,
    PLACEMENT_SHARED
} placement_fault;

/* The worst of what is wrong with rank `me` of those that `all` has, and all of it in words, "" for nothing.
 * sharers: the ranks on its GPU, itself included. */
placement_fault placement_judge(const placement *p, const placement_seat *all, int ranks, int me,
                                int *sharers, sentence *words);

/* Which of its `visible` GPUs a rank takes: ranks of a host whose first visible GPU is the same take theirs
 * in turns. first: [rank + 1], uuids. */
int placement_turn(char (*first)[DEVICE_UUID_BYTES], int rank, int visible);

/* ---- whether a run that was asked for no device may end up on the host (placement.c) ----
 * A pure function of what this rank finds: a job that was given GPUs and cannot see them must not run for a
 * day on the CPUs. */

typedef enum gpu_rule { GPU_RULE_CUDA, GPU_RULE_HOST, GPU_RULE_HOST_SAID, GPU_RULE_REFUSE } gpu_rule;

typedef struct gpu_facts {
    bool built;                 /* with CUDA */
    int visible;                /* GPUs that CUDA shows this rank */
    bool elsewhere;             /* another rank sees one */
    bool hidden;        /* CUDA_VISIBLE_DEVICES is there and names none: the user's wish, unless a job was
                         * given GPUs */
    char given[128];    /* "SLURM_JOB_GPUS = 0,1": who gave this rank GPUs; "" if none were given */
    char file[64];      /* "/dev/nvidia0": a GPU is in this machine; "" none */
    const char *reason; /* why none is visible, a sentence part */
    const char *key;    /* with which the user chooses a device: "run.device" */
} gpu_facts;

/* GPU_RULE_HOST_SAID and GPU_RULE_REFUSE: one sentence part in why. */
gpu_rule gpu_rule_of(const gpu_facts *f, sentence *why);

/* Sets given, hidden and file: of the environment, and of /dev. */
void gpu_rule_look(gpu_facts *f);
