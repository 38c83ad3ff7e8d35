/* Whenever the power fails, what then has a state's name is whole, and the newest is not older than what was
 * promised. No file is written by two ranks, and none has a name that one had before; marks go last.
 *
 * A writer's calls to the file system are recorded, and gone through one after another. What was fsynced is
 * on disk; of all else any part may be there, each write by itself and each name. So whatever may be found
 * under a state's name must have been fsynced before it got that name, and whatever an index needs must stay
 * until no index that needs it can be found. An fsync counts for the bytes that its own rank had written, and
 * a name is there for certain only once its folder was fsynced. ranks: 1 2 */
#include <sys/mman.h>

#include "files/replace.h"
#include "support/disk_calls.h"

enum { STEPS = 2, RANKS_MAX = 2, FILES = 160, NOTES = 8192, NAME_BYTES = FIXTURE_PATH_BYTES + 32 };
enum { CELLS_AT = 4096 }; /* in a part: before it is what HDF5 writes first */

/* ---- what is recorded: by all ranks in one order, in memory that they share ---- */

static struct disk {
    atomic_int notes;
    struct note { /* of a call, or of a promise: step `bytes` is on disk whatever happens now */
        disk_call call;
        int rank;
    } note[NOTES];
} * disk;

static void take_note(const disk_call *c)
{
    const int n = atomic_fetch_add(&disk->notes, 1);
    must(n < NOTES, "too many calls");
    disk->note[n] = (struct note){ *c, rank };
}

/* An fsync is noted when it begins, all else when it is done: it promises what was done by then, and no more.
 */
static disk_verdict disk_before(const disk_call *c)
{
    if (c->what == DISK_FSYNC) take_note(c);
    return DISK_AS_EVER;
}

static void disk_after(const disk_call *c)
{
    if (c->what != DISK_FSYNC && (c->what != DISK_OPEN || c->flags & O_CREAT)) take_note(c);
}

static void record(bool on)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (on) disk->notes = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    atomic_store(&disk_watched, on);
}

/* Checkpoints 1 .. STEPS, of which the newest stays, and the last once more, as after a restart from the one
 * before. */
static void record_run(const char *run, bool async)
{
    char dir[NAME_BYTES];
    snprintf(dir, sizeof dir, "%s/%s", folder, run);
    record(true);
    const int writers = async ? ranks : 1;
    state_writer *w = fixture_writer(
        &(state_writer_options){ .folder = dir, .keep = { 1, 0 }, .async = async, .writers = writers });
    for (int64_t i = 1; i <= STEPS + 1; i++) {
        state_level s = fixture_state(251, 11, DTYPE_F64, i <= STEPS ? i : STEPS);
        must(fixture_go(w, &s) == STATE_OK, why.text);
        take_note(&(disk_call){ .what = DISK_PROMISE, .bytes = s.step });
        free(s.field[0].data);
    }
    state_writer_destroy(&w);
    record(false);
}

/* ---- what a power cut may leave of it ---- */

typedef struct thing { /* a file or a folder */
    char name[DISK_NAME_BYTES];
    const struct thing *home; /* the folder it was made in */
    bool gone;                /* it has that name no more */
    bool unsure;              /* the last change of its name may be lost */
    bool dirty[RANKS_MAX];    /* bytes that this rank wrote may be lost */
    int writer;               /* -1: none yet */
} thing;
static thing all[FILES];
static int things;

static thing *find(const char *name)
{
    for (int i = 0; i < things; i++)
        if (!all[i].gone && strcmp(all[i].name, name) == 0) return &all[i];
    return NULL;
}

/* What is there beside a name; "": the folder itself. */
static thing *beside(const char *name, const char *other)
{
    char path[2 * DISK_NAME_BYTES];
    const char *const slash = strrchr(name, '/');
    const int length = slash ? (int)(slash - name) : 0;
    snprintf(path, sizeof path, "%.*s%s%s", length, name, *other ? "/" : "", other);
    return find(path);
}

static bool is_state(const thing *t) { return state_step_of(t->name) >= 0; }
static bool is_part(const thing *t) { return strstr(t->name, ".h5") && !is_state(t); }
static bool is_clean(const thing *t) { return !t->dirty[0] && !t->dirty[1]; }

/* May an index be found whose parts were made in this folder? */
static bool is_needed(const thing *home)
{
    bool needed = false;
    for (int i = 0; i < things; i++)
        needed |= is_state(&all[i]) && all[i].home == home && (!all[i].gone || all[i].unsure);
    return needed;
}

/* Are the index and its parts on disk, with their names? */
static bool is_whole(const thing *index)
{
    bool whole = is_clean(index), has_parts = false;
    for (const thing *t = all; t < all + things; t++) {
        if (t == index || t->gone || !is_part(t) || t->home != index->home) continue;
        whole = whole && is_clean(t) && !t->unsure;
        has_parts = true;
    }
    return whole && (!has_parts || !index->home->unsure);
}

static void take_fsync(const struct note *n)
{
    thing *const of = find(n->call.name);
    if (of) of->dirty[n->rank] = false;
    for (int i = 0; i < things; i++)
        if (of && beside(all[i].name, "") == of) all[i].unsure = false;
}

/* An index may go once a newer one is on disk. */
static bool has_newer(const thing *index)
{
    bool newer = false;
    for (int i = 0; i < things; i++)
        newer |= !all[i].gone && !all[i].unsure && state_step_of(all[i].name) > state_step_of(index->name);
    return newer;
}

/* The newest step was promised: its name is on disk, and so are those of the folders above. */
static void take_promise(const char *run, int64_t step)
{
    char name[DISK_NAME_BYTES];
    snprintf(name, sizeof name, "%s/step_%010lld.h5", run, (long long)step);
    for (const thing *t = find(name); t != all; t = beside(t->name, "")) must(t && !t->unsure, name);
}

static void take(const char *run, const struct note *n)
{
    const disk_call *c = &n->call;
    thing *t = find(c->name), *const other = c->what == DISK_RENAME ? find(c->to) : NULL;
    const thing *const mark = beside(c->name, "unfinished");
    switch (c->what) {
    case DISK_PROMISE: take_promise(run, c->bytes); return;
    case DISK_FSYNC: take_fsync(n); return;
    case DISK_OPEN:
    case DISK_MKDIR:
        for (int i = 0; i < things; i++) /* but the lock and the mark, which is empty */
            must(strcmp(all[i].name, c->name) != 0 || strstr(c->name, ".lock") ||
                     strstr(c->name, "/unfinished"),
                 "a name that was there before");
        if (t) return;
        t = &all[things++];
        *t = (thing){ .home = beside(c->name, ""), .unsure = true, .writer = -1 };
        strcpy(t->name, c->name);
        must(things < FILES && !is_state(t), "a state that has its name before it is whole");
        return;
    case DISK_WRITE:
    case DISK_TRUNCATE:
        must(!is_state(t) && !is_needed(t->home), "what has a name is written");
        must(t->writer < 0 || t->writer == n->rank, "two ranks write into a file");
        t->writer = n->rank;
        t->dirty[n->rank] = true;
        must(!is_part(t) || c->at < CELLS_AT || (mark && !mark->unsure), "cells before their mark");
        return;
    case DISK_RENAME:
        must(is_whole(t), "a name for what may be lost");
        if (other) other->gone = other->unsure = true;
        strcpy(t->name, c->to);
        break;
    case DISK_UNLINK:
        must(!is_state(t) || has_newer(t), "what was promised is deleted");
        must(!is_part(t) || !is_needed(t->home), "a part goes that is needed");
        must(!is_part(t) || mark, "a part goes behind its mark");
        t->gone = true;
        break;
    }
    t->unsure = true;
}

static void cut_anywhere(void **async)
{
    const char *const run = *async ? "back/run" : "fore/run";
    record_run(run, *async != NULL);
    assert_true(disk->notes >= 30);
    things = 1;
    all[0] = (thing){ .writer = -1 }; /* the folder */
    for (int i = 0; i < disk->notes; i++) take(run, &disk->note[i]);
}

/* Pictures and traces: stdio writes them, so that of their bytes the order of the calls must do. */
static void what_is_replaced_is_on_disk_before_it_is_named(void **unused)
{
    static const disk_what wanted[] = { DISK_OPEN, DISK_FSYNC, DISK_RENAME, DISK_FSYNC };
    char path[NAME_BYTES];
    replace r;
    snprintf(path, sizeof path, "%s/picture.png", folder);
    record(true);
    if (rank == 0)
        must(replace_begin(&r, path) == 0 && fputs("it", r.to) >= 0 && replace_end(&r, true) == 0, path);
    record(false);
    assert_int_equal(disk->notes, sizeof wanted / sizeof *wanted);
    for (int i = 0; i < disk->notes; i++) assert_int_equal(disk->note[i].call.what, wanted[i]);
    assert_string_equal(disk->note[2].call.to, "picture.png");
    assert_string_equal(disk->note[3].call.name, ""); /* the folder */
}

static int set_up(void **unused)
{
    char path[NAME_BYTES];
    snprintf(path, sizeof path, "%s/notes", folder);
    const int fd = open(path, O_RDWR | O_CREAT, 0600);
    must(fd >= 0 && ftruncate(fd, sizeof *disk) == 0, path); /* all ranks the same length */
    disk = mmap(NULL, sizeof *disk, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    must(disk != MAP_FAILED, path);
    return close(fd);
}

STATE_TESTS(set_up, cmocka_unit_test_prestate(cut_anywhere, "beside the steps"),
            cmocka_unit_test_prestate(cut_anywhere, NULL),
            cmocka_unit_test(what_is_replaced_is_on_disk_before_it_is_named))
