/* How fast: bytes per second, with fsync, of one rank, of all, and of all where their shares begin anywhere;
 * fsyncs and small files per second. A trial takes about a twentieth of the time; rates of all ranks are
 * those of the slowest. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/terminal.h"
#include "check_fs/fs_trials.h"
#include "files/replace.h"
#include "ranks/check.h"
#include "ranks/ranks.h"
#include "ranks/timer.h"
#include "files/transfer.h"

enum {
    PIECE_BYTES = 1 << 20,
    FIRST_BYTES = 4 << 20,
    SMALL_BYTES = 4096,
    UNALIGNED_BYTES = 1000,
    TEXT_BYTES = 32
};
static const double part_of_time = 0.06;
static const char key[] = "rates";

typedef struct share {
    uint64_t from, bytes; /* of the file; 0: this rank writes nothing */
} share;

/* 0 or errno. A call to stop leaves the rest away. */
static int write_share(int fd, share s)
{
    char *const data = CHECK_ALLOC(malloc(PIECE_BYTES));
    int code = 0;
    memset(data, 'w', PIECE_BYTES);
    for (uint64_t done = 0; done < s.bytes && !code && !fs_is_stopped(); done += PIECE_BYTES) {
        const uint64_t left = s.bytes - done;
        code = transfer_pwrite(fd, data, left < PIECE_BYTES ? (size_t)left : PIECE_BYTES, s.from + done);
    }
    if (!code && fsync(fd) != 0) code = errno;
    if (close(fd) != 0 && !code) code = errno;
    free(data);
    return code;
}

/* Bytes per second of all ranks; NaN: a call failed, which has its line. */
static double rate_of(fs_world *w, share mine)
{
    char path[STATE_PATH_BYTES];
    uint64_t all = 0;
    fs_name(w, "rate", path);
    if (!fs_all_well(w, key, w->rank == 0 ? fs_make(path, 0) : 0, "making a file")) return NAN;
    MPI_CHECK(ranks_allreduce(&mine.bytes, &all, 1, MPI_UINT64_T, MPI_SUM, w->comm));
    const int fd = fs_open_shared(w, mine.bytes > 0, path, O_RDWR);
    int code = mine.bytes > 0 && fd < 0 ? errno : 0;
    fs_meet(w);
    const double begin_s = timer_now_s();
    if (fd >= 0) code = write_share(fd, mine);
    const double seconds = timer_slowest_s(timer_now_s() - begin_s, w->comm);
    const bool well = fs_all_well(w, key, code, "write or fsync of a large file");
    fs_forget(w, path);
    return well ? (double)all / seconds : NAN;
}

/* What a trial of that rate writes, whole pieces: no more than bytes= and a quarter of what is free. The same
 * on all ranks. */
static uint64_t bytes_for(const fs_world *w, double rate)
{
    struct statvfs room;
    double bytes = fmin(part_of_time * w->seconds * rate, (double)w->bytes);
    if (w->rank == 0 && statvfs(w->folder, &room) == 0)
        bytes = fmin(bytes, 0.25 * (double)room.f_bavail * (double)room.f_frsize);
    MPI_CHECK(ranks_bcast(&bytes, 1, MPI_DOUBLE, 0, w->comm));
    return (uint64_t)fmax(bytes, PIECE_BYTES) / PIECE_BYTES * PIECE_BYTES;
}

static share of_one(const fs_world *w, uint64_t bytes) { return (share){ 0, w->rank == 0 ? bytes : 0 }; }

/* gap_bytes: between the shares of two ranks. */
static share with_gap(const fs_world *w, uint64_t bytes, uint64_t gap_bytes)
{
    const uint64_t each = bytes / (uint64_t)w->ranks / PIECE_BYTES * PIECE_BYTES,
                   mine = each ? each : PIECE_BYTES;
    return (share){ (uint64_t)w->rank * (mine + gap_bytes), mine };
}

static share of_all(const fs_world *w, uint64_t bytes) { return with_gap(w, bytes, 0); }
static share of_all_anywhere(const fs_world *w, uint64_t bytes)
{
    return with_gap(w, bytes, UNALIGNED_BYTES);
}

typedef share share_of(const fs_world *w, uint64_t bytes);

/* Of a few bytes, then of more as long as these would take less than the trial's time: each way has a speed
 * of its own. */
static double rate_in_time(fs_world *w, share_of *of)
{
    enum { GROWTH = 8 };
    uint64_t bytes = bytes_for(w, INFINITY) < FIRST_BYTES ? PIECE_BYTES : FIRST_BYTES;
    for (;;) {
        const double rate = rate_of(w, of(w, bytes));
        const uint64_t most = isnan(rate) ? 0 : bytes_for(w, rate);
        if (most < 2 * bytes) return rate;
        bytes = most < GROWTH * bytes ? most : GROWTH * bytes;
    }
}

static void try_writes(fs_world *w)
{
    char a[TEXT_BYTES], b[TEXT_BYTES], c[TEXT_BYTES];
    fs_speed *const s = &w->speed;
    s->one = rate_in_time(w, of_one);
    s->all = isnan(s->one) ? NAN : rate_in_time(w, of_all);
    s->unaligned = isnan(s->all) ? NAN : rate_in_time(w, of_all_anywhere);
    if (isnan(s->unaligned)) return;
    fs_add(w, key, FS_FIGURE, "",
           "%s by one rank, with fsync; by all %d ranks %s in shares of whole MiB, %s in shares that begin "
           "anywhere",
           terminal_rate(a, sizeof a, s->one, "B/s"), w->ranks, terminal_rate(b, sizeof b, s->all, "B/s"),
           terminal_rate(c, sizeof c, s->unaligned, "B/s"));
}

/* ---- calls per second, by rank 0 ---- */

/* 0 or errno. */
static int sync_once(fs_world *w, int fd, int number)
{
    char data[SMALL_BYTES] = "";
    const int code = transfer_pwrite(fd, data, sizeof data, (uint64_t)(number % 256) * sizeof data);
    return code || fsync(fd) == 0 ? code : errno;
}

/* Made, written, closed, deleted. */
static int small_file_once(fs_world *w, int fd, int number)
{
    char path[STATE_PATH_BYTES + 24], data[SMALL_BYTES] = "";
    snprintf(path, sizeof path, "%s/small_%d", w->folder, number);
    const int made = replace_create_new(path);
    int code = made < 0 ? errno : transfer_pwrite(made, data, sizeof data, 0);
    if (made >= 0 && close(made) != 0 && !code) code = errno;
    if (made >= 0 && unlink(path) != 0 && !code) code = errno;
    return code;
}

typedef int one_call(fs_world *w, int fd, int number);

static double times_per_second(fs_world *w, one_call *once, int fd, int *code)
{
    const double begin_s = timer_now_s(), end_s = begin_s + part_of_time * w->seconds;
    int number = 0;
    while (!*code && timer_now_s() < end_s && !fs_is_stopped()) *code = once(w, fd, number++);
    return number / (timer_now_s() - begin_s);
}

static void try_calls(fs_world *w)
{
    char path[STATE_PATH_BYTES];
    fs_speed *const s = &w->speed;
    int code = 0;
    fs_name(w, "calls", path);
    const int fd = w->rank == 0 ? replace_create_new(path) : -1;
    if (w->rank == 0 && fd < 0) code = errno;
    if (w->rank == 0) s->syncs = times_per_second(w, sync_once, fd, &code);
    if (w->rank == 0) s->small_files = times_per_second(w, small_file_once, fd, &code);
    if (fd >= 0) close(fd);
    MPI_CHECK(ranks_bcast(&s->syncs, 1, MPI_DOUBLE, 0, w->comm));
    MPI_CHECK(ranks_bcast(&s->small_files, 1, MPI_DOUBLE, 0, w->comm));
    if (fs_all_well(w, key, code, "fsync of a page, or a small file"))
        fs_add(w, key, FS_FIGURE, "",
               "%.3g fsyncs of 4 KiB per second, %.3g small files made and deleted per second", s->syncs,
               s->small_files);
}

void fs_rates(fs_world *w)
{
    try_writes(w);
    try_calls(w);
}
