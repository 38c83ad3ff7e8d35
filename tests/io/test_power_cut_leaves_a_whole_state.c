/* Whenever the power fails, what then has a state's name is whole, and the newest is not older than what was
 * promised.
 *
 * A writer's calls to the file system are recorded. Then, for a cut behind every one of them, the disk is
 * made up as it may be found: what was fsynced is there; of all else, any part: each write by itself, torn at
 * sectors, each new length and each name. An fsync counts for the bytes that its own rank had written, and a
 * name is there for certain only once its folder was fsynced. The same replay with one kind of fsync left out
 * has to find damage, else it would see nothing at all. WEFT_SOAK_DISKS=N makes up N disks by chance for each
 * cut instead of 30. ranks: 1 2 */
#include <sys/mman.h>

#include "files/replace.h"
#include "support/disk_calls.h"

enum { NX = 251, NY = 11, STEPS = 2 };
enum { FILES = 160, NOTES = 8192, SECTOR_BYTES = 512, VERDICTS = 4096 };
enum { FILE_BYTES_MAX = 1 << 17, DATA_BYTES_MAX = 64 << 20 };
static char found[FIXTURE_PATH_BYTES];
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

/* ---- the disk as a model ---- */

typedef struct entry { /* of the journal: a change that is on disk for certain, or only perhaps */
    const note *note;
    int file;          /* whose name or bytes */
    bool safe, chosen; /* chosen: of the perhaps, in the disk that is being made up */
    int torn;          /* how: 0 whole, 1 without its first sectors, 2 without its last */
} entry;

typedef struct model {
    entry entry[NOTES];
    int entries;
    struct {
        char name[DISK_NAME_BYTES]; /* as the program sees it now; "" : none */
        bool is_folder;
    } file[FILES];
    int files;
    int64_t promised;
} model;

static int file_of(const model *m, const char *name)
{
    for (int i = 0; i < m->files; i++)
        if (strcmp(m->file[i].name, name) == 0) return i;
    return -1;
}

static int new_file(model *m, const char *name, bool is_folder)
{
    must(m->files < FILES, "too many files");
    strcpy(m->file[m->files].name, name);
    m->file[m->files].is_folder = is_folder;
    return m->files++;
}

static bool lies_in(const char *name, const char *in)
{
    const char *slash = strrchr(name, '/');
    const size_t length = slash ? (size_t)(slash - name) : 0;
    return strlen(in) == length && strncmp(name, in, length) == 0;
}

static bool has_bytes(const entry *e)
{
    return e->note->call.what == DISK_WRITE || e->note->call.what == DISK_TRUNCATE;
}

static void fsync_of(model *m, const note *n, int file, omit without)
{
    const bool folder_itself = m->file[file].is_folder,
               attempt = strstr(m->file[file].name, "/run/step_") != NULL,
               parent = folder_itself && !strstr(m->file[file].name, "/run");
    if ((without == OMIT_FILES && !folder_itself) ||
        (without == OMIT_FOLDER && folder_itself && !parent && !attempt) ||
        (without == OMIT_ATTEMPT && folder_itself && attempt) || (without == OMIT_PARENT && parent))
        return;
    for (int i = 0; i < m->entries; i++) {
        entry *e = &m->entry[i];
        const disk_call *c = &e->note->call;
        if (has_bytes(e)) e->safe = e->safe || (e->file == file && e->note->rank == n->rank);
        else if (folder_itself && lies_in(c->what == DISK_RENAME ? c->to : c->name, m->file[file].name))
            e->safe = true;
    }
}

static void take(model *m, const note *n, omit without)
{
    const disk_call *c = &n->call;
    int file = file_of(m, c->name);
    if (c->what == DISK_LOOK) m->promised = c->bytes;
    if (c->what == DISK_LOOK || (c->what == DISK_OPEN && file >= 0)) return;
    if (c->what == DISK_OPEN || c->what == DISK_MKDIR) file = new_file(m, c->name, c->what == DISK_MKDIR);
    must(file >= 0, c->name);
    if (c->what == DISK_FSYNC) {
        fsync_of(m, n, file, without);
        return;
    }
    m->entry[m->entries++] = (entry){ .note = n, .file = file };
    const int other = file_of(m, c->to);
    if (c->what == DISK_RENAME && other >= 0) m->file[other].name[0] = '\0';
    if (c->what == DISK_RENAME || c->what == DISK_UNLINK) strcpy(m->file[file].name, c->to);
}

/* ---- a disk made up of it ---- */

/* The files' names as they are found after the cut; "" : not there. */
static void names_found(const model *m, char name[FILES][DISK_NAME_BYTES])
{
    memset(name, 0, FILES * DISK_NAME_BYTES);
    for (int i = 0; i < m->entries; i++) {
        const entry *e = &m->entry[i];
        const disk_call *c = &e->note->call;
        if ((!e->safe && !e->chosen) || has_bytes(e)) continue;
        for (int f = 0; f < m->files && c->what == DISK_RENAME; f++)
            if (strcmp(name[f], c->to) == 0) name[f][0] = '\0';
        strcpy(name[e->file], c->what == DISK_OPEN || c->what == DISK_MKDIR ? c->name : c->to);
    }
    for (int f = 0; f < m->files; f++) /* nor is anything in a folder that is not there */
        for (int d = 1; d < m->files && name[f][0]; d++)
            if (m->file[d].is_folder && m->file[d].name[0] && lies_in(name[f], m->file[d].name) &&
                !name[d][0])
                name[f][0] = '\0';
}

static int64_t bytes_found(const model *m, int file, char *bytes)
{
    int64_t length = 0;
    memset(bytes, 0, FILE_BYTES_MAX);
    for (int i = 0; i < m->entries; i++) {
        const entry *e = &m->entry[i];
        const disk_call *c = &e->note->call;
        if (e->file != file || (!e->safe && !e->chosen) || !has_bytes(e)) continue;
        const bool writes = c->what == DISK_WRITE;
        int64_t first = c->at, last = c->at + c->bytes; /* of a truncate at is 0 */
        must(last <= FILE_BYTES_MAX, "too long a file");
        if (writes) {
            const int64_t middle = (first + last) / 2 / SECTOR_BYTES * SECTOR_BYTES;
            if (!e->safe && e->torn == 1 && middle > first) first = middle;
            if (!e->safe && e->torn == 2 && middle > first) last = middle;
            memcpy(bytes + first, disk->data + e->note->data_at + (first - c->at), (size_t)(last - first));
        } else if (last < length) {
            memset(bytes + last, 0, (size_t)(length - last));
        }
        if (!writes || last > length) length = last;
    }
    return length;
}

/* The files of a state as they are found, below `found`. */
static void put_found(const char *name, const char *bytes, int64_t length)
{
    char path[FIXTURE_PATH_BYTES + DISK_NAME_BYTES + 32], *slash;
    snprintf(path, sizeof path, "%s/%s", found, name);
    slash = strrchr(path, '/');
    *slash = '\0';
    (void)mkdir(path, 0700);
    *slash = '/';
    FILE *f = fopen(path, "wb");
    must(f && fwrite(bytes, 1, (size_t)length, f) == (size_t)length && fclose(f) == 0, "no room");
}

static uint64_t hash_of(uint64_t hash, const char *bytes, int64_t length)
{
    for (int64_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)bytes[i]) * 1099511628211u;
    return hash;
}

/* The index, and what is in its attempts' folders. */
static bool belongs(const char *name, const char *index)
{
    const size_t stem = strlen(index) - strlen(".h5");
    return strcmp(name, index) == 0 ||
           (strncmp(name, index, stem) == 0 && name[stem] == '.' && strchr(name + stem, '/') != NULL);
}

/* Is this, under this name, the state of that step? Each content is looked at once. */
static bool is_whole(const model *m, char name[FILES][DISK_NAME_BYTES], const char *index, int64_t step,
                     char *bytes)
{
    static struct {
        uint64_t hash;
        bool whole;
    } known[VERDICTS];
    static int knowns;
    char path[FIXTURE_PATH_BYTES + DISK_NAME_BYTES + 32], command[FIXTURE_PATH_BYTES + 32];
    uint64_t hash = 14695981039346656037u ^ (uint64_t)step;
    for (int f = 0; f < m->files; f++)
        if (belongs(name[f], index) && !m->file[f].is_folder)
            hash = hash_of(hash_of(hash, name[f], (int64_t)strlen(name[f])), bytes, bytes_found(m, f, bytes));
    for (int i = 0; i < knowns; i++)
        if (known[i].hash == hash) return known[i].whole;
    snprintf(command, sizeof command, "rm -rf '%s'/*", found);
    must(system(command) == 0, "no rm");
    for (int f = 0; f < m->files; f++)
        if (belongs(name[f], index) && !m->file[f].is_folder) {
            snprintf(path, sizeof path, "%s", strrchr(index, '/') + 1);
            put_found(name[f] + (strlen(index) - strlen(path)), bytes, bytes_found(m, f, bytes));
        }
    snprintf(path, sizeof path, "%s/%s", found, strrchr(index, '/') + 1);
    state_report r;
    bool whole = fixture_verify(MPI_COMM_SELF, path, &r, &why) == STATE_OK;
    if (whole) {
        state_level s = { .kind = "heat", .type = DTYPE_F64, .fields = 1 };
        s.field[0] = fixture_field("u", NX, NY, box_make(0, NX, 0, NY), DTYPE_F64);
        whole = fixture_load(MPI_COMM_SELF, path, &s, &why) == STATE_OK && s.step == step &&
                fixture_holds(&s.field[0], DTYPE_F64, (int)step);
        free(s.field[0].data);
    }
    if (knowns < VERDICTS) {
        known[knowns].hash = hash;
        known[knowns++].whole = whole;
    }
    return whole;
}

/* A restart goes well: every file with a checkpoint's name is whole and none is missing that
 * was promised. */
static bool survives(const model *m, char *bytes)
{
    static char name[FILES][DISK_NAME_BYTES];
    int64_t newest = 0;
    names_found(m, name);
    for (int f = 0; f < m->files; f++) {
        const char *last = strrchr(name[f], '/');
        long long step;
        int end = 0;
        if (!last || sscanf(last, "/step_%10lld.h5%n", &step, &end) != 1 || !end || last[end]) continue;
        if (!is_whole(m, name, name[f], step, bytes)) return false;
        if (step > newest) newest = step;
    }
    return newest >= m->promised;
}

typedef struct tally {
    long cuts, disks, bad;
} tally;

/* Nothing of what is not safe, all of it, each without the others, the others without it, and chance. */
static void make_up(model *m, tally *t, int by_chance, uint64_t *seed, char *bytes)
{
    int open_at[NOTES], count = 0;
    for (int i = 0; i < m->entries; i++)
        if (!m->entry[i].safe) open_at[count++] = i;
    const int disks = count == 0 ? 1 : 2 + 2 * count + by_chance;
    for (int k = 0; k < disks; k++) {
        for (int i = 0; i < count; i++) {
            entry *e = &m->entry[open_at[i]];
            *seed = *seed * 6364136223846793005u + 1442695040888963407u;
            e->chosen = k == 0              ? false
                        : k == 1            ? true
                        : k < 2 + count     ? i == k - 2
                        : k < 2 + 2 * count ? i != k - 2 - count
                                            : *seed >> 63;
            e->torn = k < 2 ? 0 : (int)(*seed >> 40) % 3;
        }
        t->disks++;
        t->bad += !survives(m, bytes);
    }
    t->cuts++;
}

/* Until it is plain: the first bad disk where an fsync is left out, fifty where none is. */
static tally replay(omit without)
{
    const char *asked = getenv("WEFT_SOAK_DISKS");
    const int by_chance = asked ? atoi(asked) : 30;
    tally t = { 0, 0, 0 };
    uint64_t seed = 20261121;
    char *bytes = malloc(FILE_BYTES_MAX);
    model *m = calloc(1, sizeof *m);
    (void)new_file(m, "", true);
    m->file[0].name[0] = '\0';
    for (int i = 0; i < disk->notes && t.bad < (without == OMIT_NOTHING ? 50 : 1); i++) {
        take(m, &disk->note[i], without);
        make_up(m, &t, by_chance, &seed, bytes);
    }
    free(m);
    free(bytes);
    return t;
}

static void cut_anywhere(bool async)
{
    static const char *const of[] = { "nothing", "those of files", "those of the checkpoints' folder",
                                      "those of the folders above", "those of attempts" };
    record_run(async);
    long wrong = 0;
    const omit last =
        async && fixture_ranks(MPI_COMM_WORLD) > 1 ? OMIT_ATTEMPT : OMIT_PARENT; /* one file needs none */
    for (omit without = OMIT_NOTHING; without <= last && fixture_rank(MPI_COMM_WORLD) == 0; without++) {
        const tally t = replay(without);
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
