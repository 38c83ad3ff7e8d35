/* Who drives what on a host: where a rank's GPU is, which cores are near to it, which the rank may use, and
 * what is wrong with that. */
#pragma once

#include <sched.h>
#include <stdbool.h>

#include "core/sentence.h"
#include "device/device.h"
#include "device/sysfs.h"

typedef struct placement {
    char path[SYSFS_PATH_BYTES]; /* of the GPU on its way from the root of PCI; "" here and below: unknown,
                                  * or no GPU */
    char near_cpus[128];         /* of the GPU: "0-31,64-95" */
    int near_node;               /* its NUMA node; -1 */
    char nodes[64];              /* NUMA nodes with CPUs that the rank may use: "0,1" */
    bool far;                    /* the rank may use none of near_cpus */
} placement;

/* Of the GPU at that PCI address ("" none) and a rank that may use these CPUs. sysfs: sysfs_root(). */
void placement_read(placement *p, const char *sysfs, const char *pci, const cpu_set_t *cpus);

typedef struct placement_gpu { /* what a rank tells the others on its machine; plain bytes */
    int host;                     /* its host's number */
    int visible;                  /* GPUs that the rank sees */
    char uuid[DEVICE_UUID_BYTES]; /* of the one that it drives; "" on the host device */
} placement_gpu;

/* From the least to the worst. */
typedef enum placement_fault {
    PLACEMENT_RIGHT,
    PLACEMENT_IDLE,
    PLACEMENT_FAR,
    PLACEMENT_SEES_ONE,
    PLACEMENT_SHARED
} placement_fault;

/* The worst of what is wrong with rank `me` of those that `all` has, and all of it in words, "" for nothing.
 * GPUs without a rank are told by the first rank of the host. sharers: the ranks on its GPU, itself included.
 * */
placement_fault placement_judge(const placement *p, const placement_gpu *all, int ranks, int me, int *sharers,
                                sentence *words);
