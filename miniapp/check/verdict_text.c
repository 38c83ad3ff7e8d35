#include "check/verdict_text.h"

#include <string.h>

enum { UUID_SHOWN = 12 }; /* "GPU-0b5b4cd2": nvidia-smi takes it */

static void name_gpu(sentence *out, const check_findings *f, int rank)
{
    const check_rank *r = &f->rank[rank];
    sentence_set(out, "%s of rank %d (%s", f->device == DEVICE_HOST ? "processor cores" : "GPU", rank,
                 r->host);
    if (r->uuid[0]) sentence_add(out, ", %.*s", UUID_SHOWN, r->uuid);
    if (r->pci[0]) sentence_add(out, ", %s", r->pci);
    sentence_add(out, ")");
}

static void name_host(sentence *out, const check_findings *f, int rank)
{
    int ranks = 0;
    for (int r = 0; r < f->ranks; r++) ranks += f->rank[r].host_number == f->rank[rank].host_number;
    sentence_set(out, "host %s (%d rank%s from %d on)", f->rank[rank].host, ranks, ranks == 1 ? "" : "s",
                 rank);
}

static void name_all(sentence *out, const check_findings *f, check_part part)
{
    static const char *const all[] = {
        [CHECK_GPU] = "all GPUs alike",   [CHECK_LINK] = "all links of ranks alike",
        [CHECK_HOST] = "all hosts alike", [CHECK_HOST_LINK] = "all links of hosts alike",
        [CHECK_DISK] = "the disk",        [CHECK_JOB] = "all ranks together"
    };
    const bool cores = part == CHECK_GPU && f->device == DEVICE_HOST;
    sentence_set(out, "%s", cores ? "processor cores of all ranks alike" : all[part]);
}

void check_name(sentence *out, const check_findings *f, check_part part, int a, int b)
{
    if (a < 0) name_all(out, f, part);
    else if (part == CHECK_GPU) name_gpu(out, f, a);
    else if (part == CHECK_HOST) name_host(out, f, a);
    else if (part == CHECK_LINK) sentence_set(out, "link of ranks %d and %d (%s)", a, b, f->rank[a].host);
    else sentence_set(out, "link of hosts %s and %s", f->rank[a].host, f->rank[b].host);
}

void check_add_state(sentence *out, const check_findings *f, int rank)
{
    const check_rank *r = &f->rank[rank];
    double others = 0; /* the highest clock of the others */
    for (int k = 0; k < f->ranks; k++)
        if (k != rank && f->rank[k].clock_mhz > others) others = f->rank[k].clock_mhz;
    if (strcmp(r->gpu, f->rank[rank ? 0 : f->ranks - 1].gpu) != 0)
        sentence_add(out, "; it is another GPU, %s", r->gpu);
    if (r->held_by_power) sentence_add(out, "; its power limit holds it down");
    if (r->held_by_heat) sentence_add(out, "; heat holds it down");
    if (!(r->clock_mhz > 0) || !(r->held_by_power || r->held_by_heat || r->clock_mhz < 0.97 * others)) return;
    sentence_add(out, ": %.0f MHz", r->clock_mhz);
    if (others > 0) sentence_add(out, " (the others %.0f)", others);
    if (r->power_w > 0) sentence_add(out, ", %.0f W", r->power_w);
    if (r->temperature_c > 0) sentence_add(out, ", %.0f C", r->temperature_c);
}
