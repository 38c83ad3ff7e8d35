/* Whenever the power fails, what then has a state's name is whole, and the newest is not older than what was
 * promised. No file is written by two ranks, and none has a name that one had before; marks go last.
 *
 * A writer's calls to the file system are recorded. Then, for a cut behind every one of them, the disk is
 * made up as it may be found, in a folder: what was fsynced is there; of all else, any part: each write by
 * itself, torn at sectors, each new length and each name. An fsync counts for the bytes that its own rank had
 * written, and a name is there for certain only once its folder was fsynced. The same replay with one kind of
 * fsync left out has to find damage, else it would see nothing at all. WEFT_SOAK_DISKS=N makes up N disks by
 * chance for each cut instead of 10. ranks: 1 2 */
#include <ftw.h>
#include <sys/mman.h>

#include "files/replace.h"
#include "support/disk_calls.h"

enum { NX = 251, NY = 11, STEPS = 2 };
enum { FILES = 160, NOTES = 8192, SECTOR_BYTES = 512, DATA_BYTES_MAX = 64 << 20 };
static char found[FIXTURE_PATH_BYTES]; /* the folder of the disk that is made up */
typedef enum omit { OMIT_NOTHING, OMIT_FILES, OMIT_FOLDER, OMIT_PARENT, OMIT_ATTEMPT } omit;

/* ---- what is recorded: by all ranks in one order, in memory that they share ---- */

typedef struct note { /* of a call; a promise, that step `bytes` is on disk whatever happens now, is a look */
    disk_call call;   /* its data are at data_at */
    int rank;
    int64_t data_at;
} note;

static struct disk {
    atomic_int notes;
    _Atomic int64_t data_bytes;
    note note[NOTES];
    char data[DATA_BYTES_MAX];
} * disk;

static void take_note(const disk_call *c)
{
    const bool has_data = c->what == DISK_WRITE;
    const int64_t at = has_data ? atomic_fetch_add(&disk->data_bytes, c->bytes) : 0;
    must(at + c->bytes <= DATA_BYTES_MAX, "too many bytes");
    if (has_data) memcpy(disk->data + at, c->data, (size_t)c->bytes);
    const int n = atomic_fetch_add(&disk->notes, 1);
    must(n < NOTES, "too many calls");
    disk->note[n] = (note){ *c, fixture_rank(MPI_COMM_WORLD), at };
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
    if (c->what != DISK_FSYNC && c->what != DISK_LOOK && (c->what != DISK_OPEN || c->flags & O_CREAT))
        take_note(c);
}

static void record(bool on)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (on && fixture_rank(MPI_COMM_WORLD) == 0) {
        atomic_store(&disk->notes, 0);
        atomic_store(&disk->data_bytes, 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    atomic_store(&disk_watched, on);
}

/* Cut into rows or into columns. */
static state_level state_of(int64_t step, bool rows)
{
    const int rank = fixture_rank(MPI_COMM_WORLD), ranks = fixture_ranks(MPI_COMM_WORLD);
    state_level s = {
        .kind = "heat", .type = DTYPE_F64, .step = step, .deck = "[grid]\nnx = 61\n", .fields = 1
    };
    s.field[0] = fixture_cut("u", NX, NY, rows ? 1 : ranks, rows ? ranks : 1, rank, DTYPE_F64);
    fixture_fill(&s.field[0], DTYPE_F64, (int)step);
    return s;
}

/* Checkpoints 1 .. STEPS, of which the newest stays, and the last once more, as after a restart from the one
 * before. */
static void record_run(bool async)
{
    char dir[FIXTURE_PATH_BYTES + 16];
    state_status status;
    sentence said;
    snprintf(dir, sizeof dir, "%s/%s/run", folder, async ? "back" : "fore");
    record(true);
    const state_writer_options o = {
        .folder = dir, .keep = { 1, 0 }, .async = async, .writers = async ? fixture_ranks(MPI_COMM_WORLD) : 1
    };
    state_writer *w = state_writer_create(MPI_COMM_WORLD, &o, &status, &said, &why);
    assert_int_equal(status, STATE_OK);
    for (int64_t i = 1; i <= STEPS + 1; i++) {
        state_level s = state_of(i <= STEPS ? i : STEPS, async);
        const state_request request = { &s, NULL, NULL, NULL };
        assert_int_equal(state_writer_begin(w, &request, &why), STATE_OK);
        assert_int_equal(state_writer_wait(w, &why), STATE_OK);
        take_note(&(disk_call){ .what = DISK_LOOK, .bytes = s.step });
        free(s.field[0].data);
    }
    state_writer_destroy(&w);
    record(false);
}

/* But for the lock; the mark is empty. */
static bool has_one_writer(int of)
{
    const note *a = &disk->note[of];
    for (int i = 0; i < of && !strstr(a->call.name, ".lock"); i++) {
        const note *b = &disk->note[i];
        if (a->call.what != b->call.what || strcmp(a->call.name, b->call.name) != 0) continue;
        if (a->call.what == DISK_WRITE && a->rank != b->rank) return false;
        if (a->call.what == DISK_OPEN && !strstr(a->call.name, "/unfinished")) return false;
    }
    return true;
}

/* Parts that are deleted have the mark beside them until the last is gone: a killed run's are found. */
static bool goes_behind_its_parts(int mark)
{
    const char *const name = disk->note[mark].call.name, *const slash = strrchr(name, '/');
    if (disk->note[mark].call.what != DISK_UNLINK || !slash || strcmp(slash, "/unfinished") != 0) return true;
    for (int i = mark + 1; i < disk->notes; i++) {
        const disk_call *c = &disk->note[i].call;
        if (c->what == DISK_OPEN && strcmp(c->name, name) == 0) return true; /* it is back */
        if (c->what == DISK_UNLINK && strncmp(c->name, name, (size_t)(slash + 1 - name)) == 0) return false;
    }
    return true;
}

/* ---- the journal of what was done ---- */

typedef struct entry { /* a change that is on disk for certain, or only perhaps */
    const note *note;
    int file;          /* whose name or bytes */
    bool safe, chosen; /* chosen: of the perhaps, in the disk that is being made up */
    int torn;          /* how: 0 whole, 1 without its first sectors, 2 without its last */
} entry;

typedef struct journal {
    entry entry[NOTES];
    int entries, files;
    char name[FILES][DISK_NAME_BYTES]; /* as the program sees it now; "": none */
    bool is_folder[FILES];
    int64_t promised;
} journal;

static int file_of(const journal *j, const char *name)
{
    for (int i = 0; i < j->files; i++)
        if (strcmp(j->name[i], name) == 0) return i;
    return -1;
}

static int new_file(journal *j, const char *name, bool is_folder)
{
    must(j->files < FILES, "too many files");
    strcpy(j->name[j->files], name);
    j->is_folder[j->files] = is_folder;
    return j->files++;
}

static bool lies_in(const char *name, const char *in)
{
    const char *slash = strrchr(name, '/');
    const size_t length = slash ? (size_t)(slash - name) : 0;
    return strlen(in) == length && strncmp(name, in, length) == 0;
}

static void fsync_of(journal *j, const note *n, int file, omit without)
{
    const char *const name = j->name[file];
    const bool is_folder = j->is_folder[file], attempt = strstr(name, "/run/step_") != NULL,
               parent = is_folder && !strstr(name, "/run");
    const omit sort = !is_folder ? OMIT_FILES : parent ? OMIT_PARENT : attempt ? OMIT_ATTEMPT : OMIT_FOLDER;
    for (int i = 0; i < j->entries && sort != without; i++) {
        entry *e = &j->entry[i];
        const disk_call *c = &e->note->call;
        if (c->what == DISK_WRITE || c->what == DISK_TRUNCATE)
            e->safe = e->safe || (e->file == file && e->note->rank == n->rank);
        else if (is_folder && lies_in(c->what == DISK_RENAME ? c->to : c->name, name)) e->safe = true;
    }
}

static void take(journal *j, const note *n, omit without)
{
    const disk_call *c = &n->call;
    int file = file_of(j, c->name);
    if (c->what == DISK_LOOK) j->promised = c->bytes;
    if (c->what == DISK_LOOK || (c->what == DISK_OPEN && file >= 0)) return;
    if (c->what == DISK_OPEN || c->what == DISK_MKDIR) file = new_file(j, c->name, c->what == DISK_MKDIR);
    must(file >= 0, c->name);
    if (c->what == DISK_FSYNC) {
        fsync_of(j, n, file, without);
        return;
    }
    j->entry[j->entries++] = (entry){ .note = n, .file = file };
    const int other = file_of(j, c->to);
    if (c->what == DISK_RENAME && other >= 0) j->name[other][0] = '\0';
    if (c->what == DISK_RENAME || c->what == DISK_UNLINK) strcpy(j->name[file], c->to);
}

/* ---- a disk made up of it, with files FOUND/NUMBER, of which names are links ---- */

static int remove_one(const char *path, const struct stat *info, int what, struct FTW *at)
{
    return at->level > 0 ? remove(path) : 0;
}

static void change_bytes(const entry *e, const char *file)
{
    const disk_call *c = &e->note->call;
    int64_t first = c->at, last = c->at + c->bytes;
    const int64_t middle = (first + last) / 2 / SECTOR_BYTES * SECTOR_BYTES;
    const int fd = open(file, O_WRONLY | O_CREAT, 0600);
    if (!e->safe && e->torn == 1 && middle > first) first = middle;
    if (!e->safe && e->torn == 2 && middle > first) last = middle;
    const void *const from = disk->data + e->note->data_at + (first - c->at);
    must(c->what == DISK_WRITE ? pwrite(fd, from, (size_t)(last - first), first) == last - first
                               : ftruncate(fd, c->bytes) == 0,
         "no room");
    close(fd);
}

/* Calls that fail have no effect: nothing is in a folder that is missing. */
static void make_disk(const journal *j)
{
    char file[FIXTURE_PATH_BYTES + 16], name[FIXTURE_PATH_BYTES + DISK_NAME_BYTES + 2],
        to[FIXTURE_PATH_BYTES + DISK_NAME_BYTES + 2];
    must(nftw(found, remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0, found);
    for (int i = 0; i < j->entries; i++) {
        const entry *e = &j->entry[i];
        const disk_call *c = &e->note->call;
        if (!e->safe && !e->chosen) continue;
        snprintf(file, sizeof file, "%s/%d", found, e->file);
        snprintf(name, sizeof name, "%s/%s", found, c->name);
        snprintf(to, sizeof to, "%s/%s", found, c->to);
        if (c->what == DISK_WRITE || c->what == DISK_TRUNCATE) {
            change_bytes(e, file);
        } else if (c->what == DISK_MKDIR) {
            (void)mkdir(name, 0700);
        } else {
            const int fd = open(file, O_WRONLY | O_CREAT, 0600);
            (void)remove(c->what == DISK_RENAME ? to : name);
            if (c->what != DISK_UNLINK) (void)!link(file, c->what == DISK_RENAME ? to : name);
            if (c->what == DISK_RENAME) (void)unlink(name);
            close(fd);
        }
    }
}

/* A restart goes well: every file with a checkpoint's name is whole and none is missing that was promised. */
static bool survives(const journal *j, const char *run)
{
    int64_t newest = 0;
    make_disk(j);
    for (int64_t step = 1; step <= STEPS; step++) {
        char path[FIXTURE_STEP_BYTES];
        if (!fixture_has(found, run, step, ".h5")) continue;
        state_level s = { .kind = "heat", .type = DTYPE_F64, .fields = 1 };
        fixture_step(path, found, run, step, ".h5");
        s.field[0] = fixture_field("u", NX, NY, box_make(0, NX, 0, NY), DTYPE_F64);
        const bool whole = fixture_load(MPI_COMM_SELF, path, &s, &why) == STATE_OK && s.step == step &&
                           fixture_holds(&s.field[0], DTYPE_F64, (int)step);
        free(s.field[0].data);
        if (!whole) return false;
        newest = step;
    }
    return newest >= j->promised;
}

typedef struct tally {
    long cuts, disks, bad;
} tally;

/* Nothing of what is not safe, all of it, each without the others, the others without it, and chance. */
static void make_up(journal *j, const char *run, tally *t, int by_chance, uint64_t *seed)
{
    int open_at[NOTES], count = 0;
    for (int i = 0; i < j->entries; i++)
        if (!j->entry[i].safe) open_at[count++] = i;
    const int disks = count == 0 ? 1 : 2 + 2 * count + by_chance;
    for (int k = 0; k < disks; k++) {
        for (int i = 0; i < count; i++) {
            entry *e = &j->entry[open_at[i]];
            *seed = *seed * 6364136223846793005u + 1442695040888963407u;
            e->chosen = k == 0              ? false
                        : k == 1            ? true
                        : k < 2 + count     ? i == k - 2
                        : k < 2 + 2 * count ? i != k - 2 - count
                                            : *seed >> 63;
            e->torn = k < 2 ? 0 : (int)(*seed >> 40) % 3;
        }
        t->disks++;
        t->bad += !survives(j, run);
    }
    t->cuts++;
}

/* Until it is plain: the first bad disk where an fsync is left out, fifty where none is. */
static tally replay(const char *run, omit without)
{
    const char *asked = getenv("WEFT_SOAK_DISKS");
    tally t = { 0, 0, 0 };
    uint64_t seed = 20261121;
    journal *j = calloc(1, sizeof *j);
    (void)new_file(j, "", true);
    for (int i = 0; i < disk->notes && t.bad < (without == OMIT_NOTHING ? 50 : 1); i++) {
        take(j, &disk->note[i], without);
        make_up(j, run, &t, asked ? atoi(asked) : 10, &seed);
    }
    free(j);
    return t;
}

static void cut_anywhere(bool async)
{
    static const char *const of[] = { "nothing", "those of files", "those of the checkpoints' folder",
                                      "those of the folders above", "those of attempts" };
    record_run(async);
    long wrong = 0;
    for (int i = 0; i < disk->notes; i++)
        if (!has_one_writer(i)) fail_msg("%s has two", disk->note[i].call.name);
    for (int i = 0; i < disk->notes; i++)
        if (!goes_behind_its_parts(i)) fail_msg("%s goes before its parts", disk->note[i].call.name);
    const omit last =
        async && fixture_ranks(MPI_COMM_WORLD) > 1 ? OMIT_ATTEMPT : OMIT_PARENT; /* one file needs none */
    for (omit without = OMIT_NOTHING; without <= last && fixture_rank(MPI_COMM_WORLD) == 0; without++) {
        const tally t = replay(async ? "back/run" : "fore/run", without);
        print_message("%s, of all fsyncs %s left out: %ld cuts, %ld disks, %ld bad\n",
                      async ? "background" : "foreground", of[without], t.cuts, t.disks, t.bad);
        wrong += without == OMIT_NOTHING ? t.bad != 0 || t.cuts < 30 : t.bad == 0;
    }
    assert_true(on_all(MPI_COMM_WORLD, wrong == 0));
}

/* Pictures and traces: stdio writes them, so that of their bytes the order of the calls must do. */
static void what_is_replaced_is_on_disk_before_it_is_named(void **unused)
{
    static const disk_what wanted[] = { DISK_OPEN, DISK_FSYNC, DISK_RENAME, DISK_FSYNC };
    char path[FIXTURE_PATH_BYTES + 16];
    replace r;
    if (fixture_rank(MPI_COMM_WORLD) > 0) return;
    snprintf(path, sizeof path, "%s/picture.png", folder);
    atomic_store(&disk->notes, 0);
    atomic_store(&disk_watched, true);
    assert_int_equal(replace_begin(&r, path), 0);
    fputs("a picture", r.to);
    assert_int_equal(replace_end(&r, true), 0);
    atomic_store(&disk_watched, false);
    assert_int_equal(disk->notes, sizeof wanted / sizeof *wanted);
    for (int i = 0; i < disk->notes; i++) assert_int_equal(disk->note[i].call.what, wanted[i]);
    assert_string_equal(disk->note[2].call.to, "picture.png");
    assert_string_equal(disk->note[3].call.name, ""); /* the folder */
}

static void cut_at_any_call(void **unused)
{
    cut_anywhere(true);
    cut_anywhere(false);
}

static int set_up(void **unused)
{
    char path[FIXTURE_PATH_BYTES + 16];
    snprintf(path, sizeof path, "%s/notes", folder);
    const int fd = open(path, O_RDWR | O_CREAT, 0600);
    must(fd >= 0 && ftruncate(fd, sizeof *disk) == 0, path); /* all ranks the same length */
    disk = mmap(NULL, sizeof *disk, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    must(disk != MAP_FAILED, path);
    close(fd);
    snprintf(found, sizeof found, "%.290s/found", folder);
    return fixture_rank(MPI_COMM_WORLD) == 0 ? mkdir(found, 0700) : 0;
}

STATE_TESTS(set_up, cmocka_unit_test(cut_at_any_call),
            cmocka_unit_test(what_is_replaced_is_on_disk_before_it_is_named))
