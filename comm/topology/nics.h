/* The network cards (NICs) of this host: which are near to a GPU, and which send bytes. Read from sysfs;
 * those of software (bridges, loopback) are left out. A function of a card that is both an InfiniBand or RoCE
 * device and a network interface is one NIC, under the first name. */
#pragma once

#include <stdint.h>

#include "core/sentence.h"
#include "device/sysfs.h"

typedef struct nic {
    char name[32];
    char path[SYSFS_PATH_BYTES]; /* sysfs_resolve */
    int node;                    /* NUMA; -1: unknown */
    char link[48];               /* "400 Gb/sec (4X NDR)", "down", or "" unknown: NICs with equal links do
                                  * the same work */
    uint64_t sent_bytes;         /* since the host started */
} nic;

enum { NICS_MAX = 64 };
typedef struct nics {
    int count;
    nic nic[NICS_MAX];
} nics;

/* Takes some 10 us per NIC. */
void nics_read(nics *n, const char *sysfs);

/* The names of those that share most of the way to that place (sysfs_resolve; "": nothing), and of equals
 * those on that NUMA node: "mlx5_0,mlx5_1 (down)". */
void nics_nearest(const nics *n, const char *path, int node, char *out, size_t bytes);

/* sum += what was sent between two readings; a sum begins as { 0 }. */
void nics_add(nics *sum, const nics *before, const nics *after);

/* Names in words those that sent next to nothing while another one with an equal link sent much; false: there
 * is none. */
bool nics_idle(const nics *sent, sentence *words);
