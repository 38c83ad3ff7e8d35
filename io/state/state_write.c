/* Ranks go through the same phases: WRITE with the read-back, PUBLISH, and TELL after a failure. In a
 * phase HDF5 makes files in the main thread, and a job in a thread of each rank, which calls neither MPI nor
 * HDF5, does the rest; then all agree on how it went, by non-blocking collectives. The thread gets no signals
 * and has a team of one where a job meets an OpenMP pragma: the cores are the time steps'. Where none can be
 * started, the job is done in its place. */
#include "state/state_write.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/fp.h"
#include "files/crc32c.h"
#include "files/replace.h"
#include "ranks/check.h"
#include "ranks/fault.h"
#include "ranks/ranks.h"
#include "ranks/timer.h"
#include "state/collect.h"

#if WEFT_SIM
/* A non-blocking collective of SMPI sends P^2 messages: 256 ranks came to no end. Its blocking ones are
 * trees, and all simulated ranks come to the same ones in the same order. */
#define MPI_Iallreduce(mine, all, count, type, op, comm, request) \
    (*(request) = MPI_REQUEST_NULL, MPI_Allreduce(mine, all, count, type, op, comm))
#endif

enum { WRITERS_MAX = 256, WRITER_BYTES = 64 << 20 };

typedef enum phase { IDLE, WRITE, PUBLISH, TELL } phase;

/* Numbers of which all ranks learn the largest. WORST: status * ranks, and more for lower ranks, of which the
 * lowest speaks. */
enum { WORST, JOB_S, VERIFY_S, AGREED };
struct state_writer {
    MPI_Comm comm; /* owned */
    int rank, ranks;
    state_writer_options o;
    lock *lock;
    char dir[STATE_PATH_BYTES]; /* where the states will be */
    uint32_t token; /* of the next attempt; the same on all ranks */
    int64_t verified;
    state_stats stats;
    /* ---- the write under way; a job's while it runs ---- */
    phase phase;
    bool agreeing; /* the phase's work is done */
    state_request request;
    state_level level;
    char path[STATE_PATH_BYTES];                            /* DIR/NAME.h5 */
    char folder[STATE_PATH_BYTES], index[STATE_PATH_BYTES]; /* of the attempt, and in it */
    state_info s;   /* its path is that of the file which has the table: of one file not yet NAME.h5 */
    int number, fd; /* of this rank's part; number -1: it writes none */
    uint64_t sum[2][STATE_FIELDS_MAX]; /* this rank's shares of fingerprints: on the device; as read back */
    collect *cells; /* NULL: the snapshot is not there yet */
    collect_window window;
    pthread_t thread;
    bool job_runs, has_thread, finished; /* finished: the phase's last job is begun */
    double mine[AGREED], all[AGREED];
    MPI_Request pending[4];
    int pending_count;
    state_status status; /* of this phase on this rank */
    state_status ended;  /* how the last write ended, until it is told; its sentence is in why */
    sentence why;        /* of what failed last */
};

/* ---- how many, how large ---- */

int state_writers(uint64_t bytes, int ranks, int asked, uint64_t one_file_bytes)
{
    if (asked > 0) return asked < ranks ? asked : ranks;
    if (bytes <= one_file_bytes) return 1;
    const uint64_t wanted = (bytes + WRITER_BYTES - 1) / WRITER_BYTES;
    const int most = ranks < WRITERS_MAX ? ranks : WRITERS_MAX;
    return wanted < 1 ? 1 : wanted < (uint64_t)most ? (int)wanted : most;
}

static uint64_t cells_bytes(const state_level *l)
{
    uint64_t bytes = 0;
    for (int i = 0; i < l->fields; i++)
        bytes += (uint64_t)l->field[i].nx * (uint64_t)l->field[i].ny * dtype_bytes(l->type);
    return bytes;
}

/* No part is empty: fewer rows than writers are a part each. */
static int parts_of(const state_writer *w, const state_level *l)
{
    int parts = state_writers(cells_bytes(l), w->ranks, w->o.writers, w->o.one_file_bytes);
    for (int i = 0; i < l->fields; i++) {
        const int64_t rows = l->field[i].ny > 1 ? l->field[i].ny : l->field[i].nx;
        if (rows < parts) parts = (int)rows;
    }
    return parts;
}

/* ---- begin, write, verify, publish: a rank's share of an attempt ---- */

static state_status failed(state_writer *w, const char *what, int code)
{
    return state_file_failed(what, w->path, code, &w->why);
}

/* Names a new attempt to write the level, and cuts it into parts. */
static void name_attempt(state_writer *w)
{
    const state_level *l = &w->level;
    state_info *s = &w->s;
    memset(s, 0, sizeof *s);
    memset(w->sum, 0, sizeof w->sum);
    w->fd = -1;
    if (w->o.file) snprintf(w->path, sizeof w->path, "%s", w->o.file);
    else state_path(w->path, sizeof w->path, w->o.folder, l->step);
    snprintf(s->folder, sizeof s->folder, "%.*s.%08" PRIx32, state_stem_bytes(w->path), state_name(w->path),
             w->token++);
    snprintf(w->folder, sizeof w->folder, "%.4000s/%s", w->dir, s->folder);
    snprintf(w->index, sizeof w->index, "%.4380s/" STATE_INDEX, w->folder);
    s->parts = parts_of(w, l);
    snprintf(s->path, sizeof s->path, "%s", s->parts == 1 ? w->index : w->path);
    if (s->parts == 1) s->folder[0] = '\0';
    snprintf(s->kind, sizeof s->kind, "%s", l->kind);
    snprintf(s->version, sizeof s->version, "%s", l->version ? l->version : "unknown");
    snprintf(s->deck, sizeof s->deck, "%s", l->deck);
    s->type = l->type;
    s->step = l->step;
    s->fields = l->fields;
    s->main_field = l->main_field;
    for (int i = 0; i < l->fields; i++) {
        snprintf(s->field[i].name, sizeof s->field[i].name, "%s", l->field[i].name);
        s->field[i].nx = l->field[i].nx;
        s->field[i].ny = l->field[i].ny;
    }
    w->number = collect_cut(s, l, w->ranks, w->rank);
}

/* The first writer makes the folder. Each puts the mark there: so no host looks for a name that it may have
 * known as missing. HDF5. */
static state_status make_part(state_writer *w)
{
    char path[STATE_PATH_BYTES];
    state_status status = STATE_OK;
    if (w->rank == 0 && w->o.folder) status = state_set_aside(w->path, &w->s, &w->stats.aside, &w->why);
    if (status != STATE_OK || w->number < 0) return status;
    const int code = mkdir(w->folder, 0777) != 0 && errno != EEXIST ? errno : state_put_mark(w->folder);
    if (code) return state_file_failed("make the folder", w->folder, code, &w->why);
    status = state_part_create(&w->s, w->number, &w->why);
    if (status != STATE_OK) return status;
    state_part_path(&w->s, w->number, path);
    w->fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    return w->fd < 0 ? failed(w, "write", errno) : STATE_OK;
}

/* A window's cells go where they belong, and the CRC-32C of its blocks to w->s. */
static state_status write_window(state_writer *w)
{
    const collect_window *v = &w->window;
    const size_t word = dtype_bytes(w->s.type);
    const state_part *p = &w->s.part[w->number];
    const char *data = v->data;
    uint64_t at = (uint64_t)p->of[v->field].at_bytes +
                  (uint64_t)box_at(p->of[v->field].cells, v->cells.x0, v->cells.y0) * word;
    /* The mark is on disk before any cell: the next run finds what a power cut leaves, too. */
    int code = v->block == 0 ? replace_sync_folder(w->folder) : 0;
    for (int64_t n = 0; n < state_blocks(v->cells, w->s.type) && !code; n++) {
        const size_t bytes = (size_t)box_cells(state_piece(v->cells, w->s.type, 1, n)) * word;
        w->s.crc[p->block[v->field] + v->block + n] = crc32c(0, data, bytes);
        code = replace_pwrite(w->fd, data, bytes, at);
        /* the disk begins while the rest is still copied, so that fsync finds less to do */
        (void)sync_file_range(w->fd, (off_t)at, (off_t)bytes, SYNC_FILE_RANGE_WRITE);
        data += bytes;
        at += bytes;
    }
    return code ? failed(w, "write", code) : STATE_OK;
}

/* fault.h: checkpoint_write:RANK fails there, checkpoint_flip:RANK has written another byte into its part's
 * last cell, checkpoint_slow:MS takes so long for every write. */
static int act_faulty(const state_writer *w)
{
    const int wait_ms = fault_asked("checkpoint_slow");
    const struct timespec wait = { wait_ms / 1000, wait_ms % 1000 * 1000000L };
    if (wait_ms > 0) nanosleep(&wait, NULL);
    if (fault_asked("checkpoint_write") == w->rank) return EIO;
    if (w->number < 0 || fault_asked("checkpoint_flip") != w->rank) return 0;
    const state_part *p = &w->s.part[w->number];
    return replace_pwrite(w->fd, "\x55", 1,
                          (uint64_t)p->of[0].at_bytes +
                              (uint64_t)box_cells(p->of[0].cells) * dtype_bytes(w->s.type) - 1);
}

/* Notes a part's length and structure for the index; one file has them in its trailer. 0 or errno. */
static int describe_part(state_writer *w)
{
    state_part *p = &w->s.part[w->number];
    struct stat info;
    uint32_t crc;
    if (!w->s.folder[0]) return 0;
    if (fstat(w->fd, &info) != 0) return errno;
    const int code = state_structure_crc(&w->s, w->number, w->fd, info.st_size, &crc);
    p->bytes = info.st_size;
    p->structure_crc = crc;
    return code;
}

static state_status read_back(state_writer *w)
{
    state_report r = { .damaged = 0 };
    sentence why;
    const double begin_s = timer_now_s();
    const state_status status = state_look_at(&w->s, w->number, w->sum[1], &r, &why);
    w->mine[VERIFY_S] = timer_now_s() - begin_s;
    if (status == STATE_OK) return STATE_OK;
    return state_fail(status, &w->why,
                      "cannot write %s: rank %d read back other values than were written: %.600s", w->path,
                      w->rank, r.damaged ? r.first.text : why.text);
}

/* The part is on disk, and is read back past the page cache. */
static state_status finish_part(state_writer *w)
{
    int code = act_faulty(w);
    if (w->number >= 0) {
        if (!code && fsync(w->fd) != 0) code = errno;
        if (!code) code = describe_part(w);
        if (close(w->fd) != 0 && !code) code = errno;
        w->fd = -1;
    }
    if (code) return failed(w, "write", code);
    return w->number >= 0 && w->o.verify == STATE_VERIFY_FULL ? read_back(w) : STATE_OK;
}

/* Rank 0 gives the index the state's name, once it is on disk with its table; an older state of that name
 * loses its parts. Once the state has its name, what fails costs it nothing. */
static state_status publish(state_writer *w)
{
    char older[STATE_PATH_BYTES];
    if (w->rank != 0) return STATE_OK;
    int code = state_index_end(w->index, &w->s);
    if (!code) code = replace_sync_folder(w->folder);
    if (!code) code = replace_sync_folder(w->dir);
    if (!code) code = state_mark_older(w->path, older);
    if (code) return failed(w, "write", code);
    if (!lock_is_held(w->lock))
        return state_fail(STATE_IO, &w->why, "cannot write %s: another run has taken its place over",
                          w->path);
    if (rename(w->index, w->path) != 0) return failed(w, "rename to", errno);
    code = replace_sync_folder(w->dir);
    if (code) return state_file_failed("fsync", w->dir, code, &w->why);
    state_remove_attempt(w->folder); /* of parts, its mark */
    state_remove_attempt(older);
    if (w->o.verify == STATE_VERIFY_FULL) w->verified = w->s.step; /* read back before it got its name */
    if (w->o.folder) state_keep_apply(w->o.folder, w->o.keep, &w->s, w->verified);
    return STATE_OK;
}

/* ---- jobs ---- */

/* A window, the end of the part behind the last one, or the state's name. */
static state_status do_job(state_writer *w)
{
    if (w->phase == PUBLISH) return publish(w);
    return w->finished ? finish_part(w) : write_window(w);
}

static void *run_job(void *writer)
{
    state_writer *w = writer;
    const int threads = omp_get_max_threads();
    (void)fp_default(); /* before the first number */
    const double begin_s = timer_now_s();
    omp_set_num_threads(1);
    if (w->status == STATE_OK) w->status = do_job(w); /* after a failure messages go on, but nothing else */
    omp_set_num_threads(threads);
    w->mine[JOB_S] += timer_now_s() - begin_s;
    return NULL;
}

/* A thread inherits the mask: signals stay the main thread's, whose system calls restart. SIGXFSZ, which a
 * thread gets of its own writes, becomes the error EFBIG. */
static void start_job(state_writer *w)
{
    sigset_t all, old;
    w->job_runs = true;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    w->has_thread = w->o.async && pthread_create(&w->thread, NULL, run_job, w) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (!w->has_thread) run_job(w);
}

static bool job_is_done(state_writer *w)
{
    if (w->job_runs && w->has_thread && pthread_tryjoin_np(w->thread, NULL) != 0) return false;
    w->job_runs = false;
    return true;
}

static bool snapshot_is_there(state_writer *w)
{
    double held_s = 0;
    if (w->request.ready && !w->request.ready(w->request.owner, &w->level, &held_s)) return false;
    w->stats.snapshot_s += held_s;
    w->stats.stall_s += held_s;
    return true;
}

/* One window after another, while the messages of the next go on. False: some are left. */
static bool windows_are_written(state_writer *w)
{
    if (!w->cells && !snapshot_is_there(w)) return false;
    if (!w->cells) w->cells = collect_begin(w->comm, &w->s, &w->level, w->number);
    while (collect_next(w->cells, &w->window)) {
        if (w->window.field == w->s.fields) return true;
        if (box_empty(w->window.cells)) continue;
        start_job(w);
        return false;
    }
    return false;
}

/* ---- a phase ---- */

/* Begins what comes next in this phase. False: something is still to be done, or to be waited for. */
static bool phase_is_done(state_writer *w)
{
    if (!job_is_done(w)) {
        if (w->cells) (void)collect_arrived(w->cells);
        return false;
    }
    if (w->finished) return true;
    if (w->phase == WRITE && !windows_are_written(w)) return false;
    w->finished = true;
    start_job(w);
    return job_is_done(w);
}

static void begin_phase(state_writer *w, phase next)
{
    const double begin_s = timer_now_s();
    w->phase = next;
    w->agreeing = w->finished = false;
    w->status = STATE_OK;
    memset(w->mine, 0, sizeof w->mine);
    if (next == WRITE) w->status = make_part(w);
    if (next == PUBLISH && w->rank == 0) w->status = state_index_create(w->index, &w->s, &w->why);
    w->mine[JOB_S] = timer_now_s() - begin_s;
}

static MPI_Request *next_pending(state_writer *w) { return &w->pending[w->pending_count++]; }

static void agree(state_writer *w)
{
    const state_info *s = &w->s;
    const int numbers = s->parts * (int)(sizeof *s->part / sizeof(int64_t));
    w->agreeing = true;
    w->mine[WORST] = (int)w->status * w->ranks + w->ranks - 1 - w->rank;
    w->mine[JOB_S] -= w->mine[VERIFY_S];
    MPI_CHECK(MPI_Iallreduce(w->mine, w->all, AGREED, MPI_DOUBLE, MPI_MAX, w->comm, next_pending(w)));
    if (w->phase != WRITE) return;
    /* what a rank does not know is 0; unsigned numbers by OR, as MPICH 4.0's MAX takes them for signed */
    MPI_CHECK(
        MPI_Iallreduce(MPI_IN_PLACE, s->part, numbers, MPI_INT64_T, MPI_MAX, w->comm, next_pending(w)));
    MPI_CHECK(MPI_Iallreduce(MPI_IN_PLACE, s->crc, (int)s->blocks, MPI_UINT32_T, MPI_BOR, w->comm,
                             next_pending(w)));
    for (int i = 0; i < s->fields; i++) w->sum[0][i] = w->level.field[i].fingerprint;
    MPI_CHECK(MPI_Iallreduce(MPI_IN_PLACE, w->sum, 2 * STATE_FIELDS_MAX, MPI_UINT64_T, MPI_SUM, w->comm,
                             next_pending(w)));
}

/* ---- what all ranks know once they have agreed ---- */

/* Compares the fingerprints of the cells that were read back with those of the device. */
static state_status learn_fingerprints(state_writer *w)
{
    state_field *f = w->s.field;
    const uint64_t *const wanted = w->sum[0], *const found = w->sum[1];
    for (int i = 0; i < w->s.fields; i++) {
        f[i].fingerprint = wanted[i];
        if (w->o.verify == STATE_VERIFY_FULL && found[i] != wanted[i])
            return state_fail(STATE_DAMAGED, &w->why,
                              "cannot write %s: /fields/%s was read back with fingerprint %016" PRIx64
                              ", but had %016" PRIx64 " on its device",
                              w->path, f[i].name, found[i], wanted[i]);
    }
    return STATE_OK;
}

static void end(state_writer *w)
{
    if (w->ended == STATE_OK) {
        w->stats.count++;
        w->stats.newest_step = w->s.step;
        w->stats.bytes += (int64_t)cells_bytes(&w->level);
        w->stats.parts = w->s.parts;
    } else {
        w->stats.failed++;
    }
    collect_end(&w->cells);
    state_close(&w->s);
    w->phase = IDLE;
}

/* Nothing has a name yet. Once all have rank `speaker`'s sentence, what was half written is deleted. */
static void give_up(state_writer *w, state_status status, int speaker)
{
    w->ended = status;
    w->phase = TELL;
    w->agreeing = true;
    if (w->fd >= 0) (void)close(w->fd);
    if (w->rank == 0) state_remove_attempt(w->folder);
    MPI_CHECK(MPI_Ibcast(w->why.text, SENTENCE_BYTES, MPI_BYTE, speaker, w->comm, next_pending(w)));
    MPI_CHECK(MPI_Ibarrier(w->comm, next_pending(w)));
}

static void go_on(state_writer *w)
{
    if (w->phase == TELL) {
        end(w);
        return;
    }
    const int worst = (int)w->all[WORST];
    state_status status = (state_status)(worst / w->ranks);
    w->stats.write_s += w->all[JOB_S];
    w->stats.verify_s += w->all[VERIFY_S];
    if (status == STATE_OK && w->phase == WRITE) status = learn_fingerprints(w);
    if (status != STATE_OK) {
        give_up(w, status, w->ranks - 1 - worst % w->ranks);
    } else if (w->phase == PUBLISH) {
        end(w);
    } else {
        begin_phase(w, PUBLISH);
    }
}

/* Goes on as far as it can without waiting. */
static void advance(state_writer *w)
{
    while (w->phase != IDLE) {
        if (!w->agreeing) {
            if (!phase_is_done(w)) return;
            agree(w);
        }
        int agreed = 1;
        MPI_CHECK(MPI_Testall(w->pending_count, w->pending, &agreed, MPI_STATUSES_IGNORE));
        if (!agreed) return;
        w->pending_count = 0;
        go_on(w);
    }
}

/* ---- begin, poll, wait ---- */

state_status state_writer_begin(state_writer *w, const state_request *r, sentence *why)
{
    assert(w->phase == IDLE);
    const double begin_s = timer_now_s();
    w->request = *r;
    w->level = *r->level;
    w->ended = STATE_OK;
    name_attempt(w);
    begin_phase(w, WRITE);
    advance(w);
    if (!r->idle || r->idle(r->owner)) w->stats.stall_s += timer_now_s() - begin_s;
    return w->stats.async ? STATE_OK : state_writer_wait(w, why);
}

static state_status tell(state_writer *w, sentence *why)
{
    const state_status ended = w->ended;
    if (w->phase != IDLE || ended == STATE_OK) return STATE_OK;
    *why = w->why;
    w->ended = STATE_OK;
    return ended;
}

state_status state_writer_poll(state_writer *w, sentence *why)
{
    advance(w);
    return tell(w, why);
}

state_status state_writer_wait(state_writer *w, sentence *why)
{
    const struct timespec pause = { .tv_nsec = 100 * 1000 }; /* threads that write need processors */
    double idle_since_s = NAN;
    while (w->phase != IDLE) {
        if (isnan(idle_since_s) && (!w->request.idle || w->request.idle(w->request.owner)))
            idle_since_s = timer_now_s();
        advance(w);
        if (w->phase != IDLE) nanosleep(&pause, NULL);
    }
    if (!isnan(idle_since_s)) w->stats.stall_s += timer_now_s() - idle_since_s;
    return tell(w, why);
}

bool state_writer_busy(const state_writer *w) { return w->phase != IDLE; }
state_stats state_writer_stats(const state_writer *w) { return w->stats; }
void state_writer_trust(state_writer *w, int64_t step) { w->verified = step; }

/* ---- create and destroy ---- */

/* By rank 0: the folder and its lock are this run's, and what dead runs left half written is gone. */
static state_status take_place(state_writer *w, sentence *note, sentence *why)
{
    const state_writer_options *o = &w->o;
    char path[STATE_PATH_BYTES];
    state_status status = o->folder ? state_make_folder(o->folder, why) : STATE_OK;
    if (status == STATE_OK && o->folder) status = state_check_names(o->folder, why);
    state_lock_path(path, o->folder, o->file);
    if (status == STATE_OK) w->lock = lock_take(path, &status, note, why);
    if (status == STATE_OK) state_tidy(w->dir, o->file);
    return status;
}

state_writer *state_writer_create(MPI_Comm comm, const state_writer_options *o, state_status *status,
                                  sentence *note, sentence *why)
{
    state_writer *w = CHECK_ALLOC(calloc(1, sizeof *w));
    w->o = *o;
    w->verified = STATE_NONE_VERIFIED;
    w->stats.async = o->async;
    w->rank = ranks_mine(comm);
    w->ranks = ranks_count(comm);
    note->text[0] = '\0';
    if (o->folder) snprintf(w->dir, sizeof w->dir, "%s", o->folder);
    else replace_directory_of(w->dir, sizeof w->dir, o->file);
    *status = state_agree(comm, w->rank == 0 ? take_place(w, note, why) : STATE_OK, why);
    if (*status != STATE_OK) {
        lock_release(&w->lock);
        free(w);
        return NULL;
    }
    MPI_CHECK(ranks_dup(comm, &w->comm));
    w->token = (uint32_t)replace_token();
    MPI_CHECK(ranks_bcast(&w->token, 1, MPI_UINT32_T, 0, comm));
    return w;
}

void state_writer_destroy(state_writer **w)
{
    if (!w || !*w) return;
    sentence ignored;
    (void)state_writer_wait(*w, &ignored);
    MPI_CHECK(MPI_Comm_free(&(*w)->comm));
    lock_release(&(*w)->lock);
    free(*w);
    *w = NULL;
}
