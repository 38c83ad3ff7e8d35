#include "deadline.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "timer.h"

static const double margin_s = 2;                 /* steps that are enqueued, the fingerprint, the record, MPI's end */
static const double slow_disk_bytes_per_s = 100e6; /* written and read back */

double deadline_of(const config *c, double start_s)
{
    const char *slurm = getenv("SLURM_JOB_END_TIME");
    char *end = NULL;
    if (c->run.wall_limit_s > 0) return start_s + c->run.wall_limit_s;
    if (!slurm) return INFINITY;
    const double at = strtod(slurm, &end);
    return end != slurm && *end == '\0' && at > 0 ? timer_now_s() + (at - (double)time(NULL)) : INFINITY;
}

bool deadline_near(double deadline_s, const writer_stats *stats, bool writing, double file_bytes)
{
    if (isinf(deadline_s)) return false;
    double write_s = 1 + file_bytes / slow_disk_bytes_per_s;
    if (stats->count > 0) {
        const double all_s = stats->snapshot_s + stats->write_s + (isnan(stats->verify_s) ? 0 : stats->verify_s);
        write_s = 1.5 * all_s / (double)stats->count;
    }
    return timer_now_s() + write_s * (writing ? 2 : 1) + margin_s > deadline_s;
}
