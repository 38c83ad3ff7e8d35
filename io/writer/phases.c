#include "writer/phases.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "files/replace.h"
#include "ranks/check.h"
#include "ranks/fault.h"
#include "ranks/hosts.h"
#include "ranks/ranks.h"
#include "ranks/timer.h"
#include "writer/aggregate.h"
#include "writer/agreement.h"
#include "writer/background.h"
#include "writer/checkpoint_job.h"

/* MEMORY: of those that collect; LOOK: where there are several hosts; else they are passed over. */
typedef enum phase { IDLE, ROOM, MEMORY, WRITE, READ_BACK, STRUCTURE, LOOK, PUBLISH, CLEAN_UP } phase;
static checkpoint_work *const work_of[] = {
    [ROOM] = checkpoint_job_room,           [WRITE] = checkpoint_job_write,
    [READ_BACK] = checkpoint_job_read_back, [STRUCTURE] = checkpoint_job_structure,
    [LOOK] = checkpoint_job_look,           [PUBLISH] = checkpoint_job_publish,
    [CLEAN_UP] = checkpoint_job_clean_up
};
typedef enum stage { HELD, RUNNING, AGREEING } stage; /* of a phase */

/* The numbers of an agreement, behind the status. */
enum {
    JOB_NS = 1,
    SPENT_NS,
    FILE_BYTES = SPENT_NS + CHECKPOINT_SPENT,
    FIELD_AT,
    TOKEN = FIELD_AT + CHECKPOINT_FIELDS_MAX,
    INODE = TOKEN + 2,
    DEVICE = INODE + 2,
    PIECE = DEVICE + 2,
    FILE_SYSTEM,
    ANOTHER_FILE_SYSTEM,
    IMAGE_CRC,
    NUMBERS
};
_Static_assert((int)NUMBERS <= (int)AGREEMENT_NUMBERS_MAX, "numbers of an agreement");
_Static_assert(2 + (int)CHECKPOINT_FIELDS_MAX <= (int)AGREEMENT_REQUESTS_MAX,
               "its messages: the numbers, checksums, fingerprints");

struct phases {
    MPI_Comm comm;
    int rank, ranks;
    writer_stats *stats;
    background *thread;
    aggregate *collected;
    hosts *hosts;

    phase phase;
    stage stage;
    writer_request request;
    checkpoint_job job; /* its state with this rank's shares of the fingerprints once the snapshot is there */
    agreement agreed;
    uint64_t share[CHECKPOINT_FIELDS_MAX], fingerprint[CHECKPOINT_FIELDS_MAX]; /* the latter on rank 0 */
    checkpoint_sums sums[CHECKPOINT_FIELDS_MAX]; /* joined; on rank 0, and on all where some collect */
    checkpoint_status failed; /* the write under way, or the last one; then its sentence is in why */
    sentence why;
};

/* On all ranks or on none. */
static bool start_threads(phases *p, sentence *why)
{
    p->thread = background_create(true);
    if (!p->thread) sentence_set(why, "cannot start a thread: %s", strerror(errno));
    if (checkpoint_agree(p->comm, p->thread ? CHECKPOINT_OK : CHECKPOINT_IO, why) == CHECKPOINT_OK)
        return true;
    background_destroy(&p->thread);
    return false;
}

phases *phases_create(MPI_Comm comm, bool threads, writer_stats *stats, sentence *why)
{
    phases *p = CHECK_ALLOC(calloc(1, sizeof *p));
    p->comm = comm;
    p->stats = stats;
    p->rank = ranks_mine(comm);
    p->ranks = ranks_count(comm);
    p->agreed = (agreement){ .comm = comm, .rank = p->rank, .ranks = p->ranks };
    p->collected = aggregate_create(comm);
    p->hosts = hosts_create(comm);
    if (threads) stats->async = start_threads(p, why);
    if (!p->thread) p->thread = CHECK_ALLOC(background_create(false));
    return p;
}

void phases_destroy(phases **p)
{
    if (!p || !*p) return;
    background_destroy(&(*p)->thread);
    aggregate_destroy(&(*p)->collected);
    hosts_destroy(&(*p)->hosts);
    free(*p);
    *p = NULL;
}

const sentence *phases_why(const phases *p) { return p->failed ? &p->why : NULL; }
checkpoint_status phases_status(const phases *p) { return p->failed; }

static bool collects(const phases *p) { return p->job.plan.count > 0; }

static void end(phases *p)
{
    if (p->failed) p->why = p->job.why;
    checkpoint_job_end(&p->job);
    for (int i = 0; i < CHECKPOINT_FIELDS_MAX; i++) checkpoint_sums_free(&p->sums[i]);
    p->phase = IDLE;
}

/* ---- one phase: jobs, agreement, what follows ---- */

/* To be asked until it is. */
static bool snapshot_is_there(phases *p)
{
    double held_s = 0;
    if (!p->request.ready(p->request.owner, &p->job.state, &held_s)) return false;
    p->stats->snapshot_s += held_s;
    p->stats->stall_s += held_s;
    for (int i = 0; i < p->job.state.fields; i++) p->share[i] = p->job.state.field[i].fingerprint;
    return true;
}

static checkpoint_status make_structure(checkpoint_job *j, checkpoint_image *image, const checkpoint_state *s,
                                        const checkpoint_sums *sums)
{
    sentence reason;
    if (checkpoint_image_make(image, s, sums, &reason) == CHECKPOINT_OK) return CHECKPOINT_OK;
    return checkpoint_fail(CHECKPOINT_IO, &j->why, "cannot write %s: %s", j->names.path, reason.text);
}

/* On rank 0: HDF5's structure with the joined checksums and fingerprints. */
static bool make_image(phases *p)
{
    checkpoint_state s = p->job.state;
    checkpoint_job *j = &p->job;
    for (int i = 0; i < s.fields; i++) {
        s.field[i].fingerprint = p->fingerprint[i];
        checkpoint_sums_finish(&p->sums[i], s.type, &s.field[i]);
    }
    j->status = make_structure(j, &j->image, &s, p->sums);
    if (j->status != CHECKPOINT_OK) return false;
    if (memcmp(&j->image.layout, &j->layout, sizeof j->layout) == 0 && j->image.file_bytes == j->file_bytes)
        return true;
    j->status = checkpoint_fail(CHECKPOINT_IO, &j->why,
                                "cannot write %s: HDF5 changed the layout of the file", j->names.path);
    return false;
}

/* What failed here is told in the agreement. */
static void make_memory(phases *p)
{
    checkpoint_job *j = &p->job;
    j->seconds = 0;
    j->status = CHECKPOINT_OK;
    const bool none = !aggregate_begin(p->collected, &p->job.state, &j->plan, &j->layout);
    if (none || fault_asked("checkpoint_memory") == p->rank)
        j->status = checkpoint_fail(CHECKPOINT_IO, &j->why,
                                    "cannot write %s: rank %d has no memory for the rows that it collects",
                                    j->names.path, p->rank);
}

static void start_job(phases *p, checkpoint_work *work)
{
    p->job.work = work;
    background_start(p->thread, checkpoint_job_run, &p->job);
}

/* False: the job has to wait for the snapshot. */
static bool start(phases *p)
{
    if (p->phase == WRITE && !p->job.again && !snapshot_is_there(p)) return false;
    checkpoint_job_phase(&p->job);
    p->stage = RUNNING;
    if (p->phase == MEMORY) make_memory(p);
    else if (p->phase == WRITE && collects(p)) start_job(p, checkpoint_job_source);
    else if (p->phase != STRUCTURE || p->rank != 0 || make_image(p)) start_job(p, work_of[p->phase]);
    return true;
}

/* One window after another, while the messages of the next go on; then what was written is flushed. */
static bool wrote_windows(phases *p)
{
    checkpoint_job *j = &p->job;
    if (j->window) aggregate_release(p->collected);
    j->window = aggregate_next(p->collected);
    if (j->window) {
        start_job(p, checkpoint_job_window);
        return false;
    }
    if (!aggregate_done(p->collected)) return false;
    if (j->flushed) return true;
    start_job(p, checkpoint_job_flush);
    return false;
}

/* Is the phase's last job done? */
static bool ran(phases *p)
{
    const bool collecting = p->phase == WRITE && collects(p);
    if (!background_done(p->thread)) {
        if (collecting) (void)aggregate_next(p->collected);
        return false;
    }
    return !collecting || wrote_windows(p);
}

/* Those that collect compare what they read back with what all have. */
static void join_checksums(phases *p)
{
    agreement *a = &p->agreed;
    for (int i = 0; i < p->job.state.fields; i++) {
        const checkpoint_sums *from = &p->job.share[i];
        uint32_t *to = p->sums[i].crc;
        (collects(p) ? agreement_allreduce : agreement_reduce)(a, from->crc, to, (int)from->blocks,
                                                               MPI_UINT32_T, MPI_BXOR);
    }
    agreement_reduce(a, p->share, p->fingerprint, p->job.state.fields, MPI_UINT64_T, MPI_SUM);
}

/* Where the fields will lie, from a structure without their checksums, which HDF5 makes once there is room;
 * rank 0 tells the others with the first agreement. */
static void plan_layout(phases *p)
{
    checkpoint_job *j = &p->job;
    checkpoint_image plan;
    j->status = make_structure(j, &plan, &p->job.state, p->sums);
    if (j->status != CHECKPOINT_OK) return;
    j->layout = plan.layout;
    p->agreed.mine[FILE_BYTES] = (int64_t)plan.file_bytes;
    for (int i = 0; i < CHECKPOINT_FIELDS_MAX; i++)
        p->agreed.mine[FIELD_AT + i] = (int64_t)plan.layout.field_at_bytes[i];
    checkpoint_image_free(&plan);
}

static void tell_of_file(phases *p)
{
    const checkpoint_job *j = &p->job;
    p->agreed.mine[FILE_SYSTEM] = j->file_system;
    p->agreed.mine[ANOTHER_FILE_SYSTEM] = -(int64_t)j->file_system;
    if (p->rank != 0) return;
    p->agreed.mine[PIECE] = (int64_t)j->piece_bytes;
    agreement_tell(&p->agreed, INODE, j->id.inode);
    agreement_tell(&p->agreed, DEVICE, j->id.device);
}

static void agree(phases *p)
{
    p->stage = AGREEING;
    if (p->phase == ROOM && p->rank == 0 && p->job.status == CHECKPOINT_OK) plan_layout(p);
    if (p->phase == ROOM) tell_of_file(p);
    if (p->phase == STRUCTURE && p->rank == 0 && p->job.status == CHECKPOINT_OK)
        p->agreed.mine[IMAGE_CRC] = checkpoint_image_crc(&p->job.image);
    p->agreed.mine[JOB_NS] = (int64_t)(p->job.seconds * 1e9);
    for (int i = 0; i < CHECKPOINT_SPENT; i++)
        p->agreed.mine[SPENT_NS + i] = (int64_t)(p->job.spent_s[i] * 1e9);
    agreement_begin(&p->agreed, p->job.status, NUMBERS);
    if (p->phase == WRITE && !p->job.again) join_checksums(p);
}

/* While the half-written file is deleted, its story goes round. */
static void clean_up_failed(phases *p, checkpoint_status worst)
{
    p->failed = worst;
    p->phase = CLEAN_UP;
    agreement_bcast(&p->agreed, p->job.why.text, SENTENCE_BYTES, agreement_speaker(&p->agreed));
}

/* What is written and by whom, the same on all ranks. */
static void take_plan(phases *p)
{
    checkpoint_job *j = &p->job;
    const int64_t *all = p->agreed.all;
    checkpoint_names_token(&j->names, agreement_told(&p->agreed, TOKEN));
    j->id = (checkpoint_identity){ .inode = agreement_told(&p->agreed, INODE),
                                   .device = agreement_told(&p->agreed, DEVICE) };
    j->same_host = p->hosts->of[p->rank] == 0;
    j->file_bytes = (uint64_t)all[FILE_BYTES];
    for (int i = 0; i < CHECKPOINT_FIELDS_MAX; i++) j->layout.field_at_bytes[i] = (uint64_t)all[FIELD_AT + i];
    writers_plan(&j->plan, &p->job.state, &(writers_facts){
        .hosts = p->hosts, .piece_bytes = (uint64_t)all[PIECE], .short_bytes = aggregate_short_bytes,
        .file_system = all[FILE_SYSTEM] == -all[ANOTHER_FILE_SYSTEM] ? (uint32_t)all[FILE_SYSTEM] : 0 });
    j->number = collects(p) ? writers_number(&j->plan, p->rank) : -1;
    j->joined = collects(p) ? p->sums : NULL;
    p->stats->plan = j->plan;
}

static void write_again(phases *p)
{
    p->job.again = true;
    aggregate_again(p->collected);
    p->phase = WRITE;
}

static void add_seconds(phases *p, double seconds)
{
    writer_stats *s = p->stats;
    if (p->phase == READ_BACK) s->verify_s += seconds;
    if (p->phase == READ_BACK || p->phase == CLEAN_UP) return;
    s->write_s += seconds;
    if (p->phase > READ_BACK) s->publish_s += seconds;
    for (int i = 0; i < CHECKPOINT_SPENT; i++) s->spent_s[i] += 1e-9 * (double)p->agreed.all[SPENT_NS + i];
}

/* All ranks have agreed on how the phase went. */
static void go_on(phases *p)
{
    const double seconds = 1e-9 * (double)p->agreed.all[JOB_NS];
    const checkpoint_status worst = agreement_worst(&p->agreed);
    const phase ended = p->phase;
    p->stage = HELD;
    add_seconds(p, seconds);
    if (worst == CHECKPOINT_DAMAGED && ended == READ_BACK && collects(p) && !p->job.again) {
        write_again(p);
        return;
    }
    if (worst != CHECKPOINT_OK) {
        clean_up_failed(p, worst);
        return;
    }
    if (ended == ROOM) take_plan(p);
    if (ended == STRUCTURE) p->job.image_crc = (uint32_t)p->agreed.all[IMAGE_CRC];
    const bool passes_over = (ended == ROOM && !collects(p)) || (ended == STRUCTURE && p->hosts->count == 1);
    if (ended == CLEAN_UP || ended == PUBLISH) end(p);
    else p->phase = ended + (passes_over ? 2 : 1);
}

bool phases_advance(phases *p)
{
    while (p->phase != IDLE) {
        switch (p->stage) {
        case HELD:
            if (!start(p)) return true;
            break;
        case RUNNING:
            if (!ran(p)) return true;
            agree(p);
            break;
        case AGREEING:
            if (!agreement_done(&p->agreed)) return true;
            go_on(p);
            break;
        }
    }
    return false;
}

/* The longer the wait so far, the longer a pause in it, up to a millisecond: the threads that write may need
 * this processor, and to know of their end a sixteenth later costs little. */
static void pause_in_wait(double since_s)
{
    const double pause_s = fmin(fmax((timer_now_s() - since_s) / 16, 50e-6), 1e-3);
    const struct timespec pause = { .tv_nsec = (long)(pause_s * 1e9) };
    nanosleep(&pause, NULL);
}

double phases_wait(phases *p, bool (*idle)(void *owner), void *owner)
{
    const double begin_s = timer_now_s();
    double idle_since_s = NAN;
    while (phases_advance(p)) {
        if (isnan(idle_since_s) && (!idle || idle(owner))) idle_since_s = timer_now_s();
        pause_in_wait(begin_s);
    }
    return isnan(idle_since_s) ? 0 : timer_now_s() - idle_since_s;
}

/* ---- begin ---- */

void phases_begin(phases *p, const writer_request *r, const phases_order *o)
{
    checkpoint_job *j = &p->job;
    assert(p->phase == IDLE);
    p->request = *r;
    p->failed = CHECKPOINT_OK;
    memset(p->agreed.mine, 0, sizeof p->agreed.mine);
    const checkpoint_state *s = r->state;
    checkpoint_status status = checkpoint_job_begin(j, p->rank, s, o->path);
    for (int i = 0; i < s->fields && status == CHECKPOINT_OK; i++)
        if (!checkpoint_sums_make(&p->sums[i], &s->field[i], j->share[i].lines))
            status = checkpoint_fail(CHECKPOINT_IO, &j->why, "no memory for the checksums of a checkpoint");
    if (status == CHECKPOINT_OK && p->rank == 0) {
        const uint64_t token = replace_token();
        checkpoint_names_token(&j->names, token);
        agreement_tell(&p->agreed, TOKEN, token);
    }
    j->dir = o->dir;
    j->rule = o->rule;
    j->verified = o->verified;
    p->phase = ROOM;
    p->stage = HELD;
    if (status != CHECKPOINT_OK) {
        j->status = status;
        p->stage = RUNNING; /* nothing to run: all ranks hear of it in the agreement */
    }
}
