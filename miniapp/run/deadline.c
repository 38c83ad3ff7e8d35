#include "run/deadline.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "ranks/check.h"
#include "ranks/timer.h"

static const double margin_s = 2;                 /* steps that are enqueued, the fingerprint, the record, MPI's end */
static const double slow_disk_bytes_per_s = 100e6; /* written and read back */

static double left_s(const config *c, double start_s)
{
    const char *slurm = getenv("SLURM_JOB_END_TIME");
    char *end = NULL;
    if (c->run.wall_limit_s > 0) return start_s + c->run.wall_limit_s - timer_now_s();
    if (!slurm) return INFINITY;
    const double at = strtod(slurm, &end);
    return end != slurm && *end == '\0' && at > 0 ? at - (double)time(NULL) : INFINITY;
}

double deadline_of(MPI_Comm comm, const config *c, double start_s)
{
    const double mine_s = left_s(c, start_s);
    double all_s;
    MPI_CHECK(MPI_Allreduce(&mine_s, &all_s, 1, MPI_DOUBLE, MPI_MIN, comm));
    return timer_now_s() + all_s;
}

bool deadline_near(double deadline_s, const writer_stats *stats, int writes, double file_bytes)
{
    if (isinf(deadline_s)) return false;
    double write_s = 1 + file_bytes / slow_disk_bytes_per_s;
    if (stats->count > 0) {
        const double all_s = stats->snapshot_s + stats->write_s + (isnan(stats->verify_s) ? 0 : stats->verify_s);
        write_s = 1.5 * all_s / (double)stats->count;
    }
    return timer_now_s() + write_s * writes + margin_s > deadline_s;
}
