/* Ranks of several hosts whose file system caches pages and names as NFS does (cached_hosts.h) write state
 * files through the writer: whatever is sent when, each file that has its name has every byte of the one that
 * is written without caches, and nothing is written to it afterwards. First the model itself: it loses what
 * the kernel's client was seen to lose. ranks: 2 4
 * release: four times as many files */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/mman.h>

#include "support/cached_hosts.h"
#include "support/checkpoint_fixture.h"
#include "support/sanitized.h"
#include "writer/writer.h"

enum { TRIES = 100, NX = 1003, NY = 401, STEPS = 3, /* files of 3.2 MB: shares of 1 MiB have borders */
       PATH_BYTES = FIXTURE_PATH_BYTES + 64, NAMED_HOSTS = 2 };

static sentence why;
static char folder[FIXTURE_PATH_BYTES];
static cached_server *server;
static bool by_node; /* neighbouring ranks are on different hosts */

#define say(...) (fixture_rank(MPI_COMM_WORLD) == 0 ? print_message(__VA_ARGS__) : (void)0)

/* ---- which host a rank is on ---- */

static int host_of(int rank, int ranks) { return by_node ? rank % NAMED_HOSTS : rank * NAMED_HOSTS / ranks; }

/* The writer asks MPI. */
int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *host)
{
    if (!cached.server || type != MPI_COMM_TYPE_SHARED)
        return PMPI_Comm_split_type(comm, type, key, info, host);
    return PMPI_Comm_split(comm, cached.host, key, host);
}

/* ---- the model, by one process that is each host in turn ---- */

static void begin_alone(int version)
{
    server = calloc(1, sizeof *server);
    assert_non_null(server);
    cached_empty(server, version, 20261123);
    cached_start(server, "/nfs", 0);
}

static void end_alone(void)
{
    cached_start(NULL, "", 0);
    free(server);
}

typedef struct sharing { /* two hosts that write neighbouring parts of one file */
    const char *what;
    int border, flags;
    bool truncate, lock, loses;
} sharing;

/* Of the file as the server has it, is every byte what was written? */
static bool all_there(const sharing *s, int bytes)
{
    const cached_file *const f = &server->file[cached_name_at(server->name, "/shared.h5.tmp", false)->file];
    for (int i = 0; i < bytes; i++)
        if (f->data[i] != (i < s->border ? 'a' : 'b')) return false;
    return f->bytes == bytes;
}

static bool share_once(const sharing *s)
{
    static char bytes[3 * CACHED_PAGE_BYTES];
    int fd[2];
    cached.host = 0;
    fd[0] = open("/nfs/shared.h5.tmp", s->flags | O_CREAT | O_EXCL, 0644);
    if (s->truncate) (void)!ftruncate(fd[0], sizeof bytes);
    cached.host = 1;
    fd[1] = open("/nfs/shared.h5.tmp", s->flags);
    for (int h = 0; h < 2; h++) {
        cached.host = h;
        memset(bytes, 'a' + h, sizeof bytes);
        const int from = h == 0 ? 0 : s->border, to = h == 0 ? s->border : (int)sizeof bytes;
        struct flock own = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = from, .l_len = to - from };
        if (s->lock) assert_int_equal(fcntl(fd[h], F_SETLKW, &own), 0);
        assert_int_equal(pwrite(fd[h], bytes, (size_t)(to - from), from), to - from);
    }
    for (int h = 0; h < 2; h++) {
        cached.host = h;
        assert_int_equal(fsync(fd[h]), 0);
        assert_int_equal(close(fd[h]), 0);
    }
    const bool whole = all_there(s, sizeof bytes);
    cached.host = 0;
    assert_int_equal(unlink("/nfs/shared.h5.tmp"), 0);
    return whole;
}

static void shared_pages_lose_bytes(void **state)
{
    (void)state;
    static const sharing ways[] = {
        { "a border inside a page", CACHED_PAGE_BYTES + 2008, O_RDWR, false, false, true },
        { "... after ftruncate", CACHED_PAGE_BYTES + 2008, O_RDWR, true, false, true },
        { "... with O_WRONLY", CACHED_PAGE_BYTES + 2008, O_WRONLY, false, false, true },
        { "... with O_DSYNC", CACHED_PAGE_BYTES + 2008, O_RDWR | O_DSYNC, false, false, false },
        { "... each part locked", CACHED_PAGE_BYTES + 2008, O_RDWR, true, true, false },
        { "a border between pages", CACHED_PAGE_BYTES, O_RDWR, false, false, false },
        { "... after ftruncate", CACHED_PAGE_BYTES, O_RDWR, true, false, false },
    };
    begin_alone(3);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        int lost = 0;
        for (int k = 0; k < TRIES; k++) lost += !share_once(&ways[i]);
        say("%s: %d of %d files lost bytes\n", ways[i].what, lost, TRIES);
        assert_true(ways[i].loses == (lost > 0));
    }
    end_alone();
}

/* Host 1 has opened NAME.tmp; host 0 gives it its name and makes a new NAME.tmp. Does what host 1 writes
 * there get into NAME? */
static int stale_names(int opens)
{
    static const char tmp[] = "/nfs/name.h5.tmp", path[] = "/nfs/name.h5";
    int wrong = 0;
    for (int k = 0; k < TRIES; k++) {
        cached.host = 0;
        close(open(tmp, O_RDWR | O_CREAT | O_EXCL, 0644));
        cached.host = 1;
        for (int i = 0; i < opens; i++) close(open(tmp, O_RDWR));
        cached.host = 0;
        assert_int_equal(rename(tmp, path), 0);
        close(open(tmp, O_RDWR | O_CREAT | O_EXCL, 0644));
        cached.host = 1;
        const int fd = open(tmp, O_RDWR);
        assert_int_equal(pwrite(fd, "U", 1, 0), 1);
        close(fd);
        wrong += server->file[cached_name_at(server->name, "/name.h5", false)->file].late_writes > 0;
        cached.host = 0;
        assert_int_equal(unlink(tmp), 0);
        assert_int_equal(unlink(path), 0);
        memset(server->known, 0, sizeof server->known);
    }
    return wrong;
}

static void names_used_twice_hit_the_wrong_file(void **state)
{
    (void)state;
    for (int version = 3; version <= 4; version++) {
        begin_alone(version);
        const int once = stale_names(1), twice = stale_names(2);
        end_alone();
        say("NFSv%d: after one open %d, after two %d of %d published files written to\n", version, once,
            twice, TRIES);
        assert_true(once > 0 && twice > TRIES / 2 && (version == 3) == (once < TRIES / 2));
    }
}

/* ---- the writer ---- */

static checkpoint_state state_of(int64_t step, bool columns, checkpoint_verify_how how, int aggregators)
{
    const int rank = fixture_rank(MPI_COMM_WORLD), ranks = fixture_ranks(MPI_COMM_WORLD);
    checkpoint_state s = { .kind = "heat",
                           .type = DTYPE_F64,
                           .step = step,
                           .deck = "[grid]\nnx = 1003\n",
                           .fields = 1,
                           .verify = how,
                           .aggregators = aggregators };
    s.field[0] = fixture_cut("u", NX, NY, columns ? ranks : 1, columns ? 1 : ranks, rank, DTYPE_F64);
    fixture_fill(&s.field[0], DTYPE_F64, (int)step);
    return s;
}

/* Of this step, as a disk without caches has it. */
static char *reference[STEPS + 1];
static int64_t reference_bytes;

static void make_reference(int64_t step)
{
    char path[PATH_BYTES];
    checkpoint_state s = state_of(step, false, CHECKPOINT_VERIFY_FULL, 0);
    snprintf(path, sizeof path, "%s/reference_%d.h5", folder, (int)step);
    assert_int_equal(checkpoint_write(MPI_COMM_WORLD, path, &s, NULL, &why), CHECKPOINT_OK);
    free(s.field[0].data);
    reference[step] = calloc(1, CACHED_FILE_BYTES);
    const int fd = open(path, O_RDONLY);
    reference_bytes = read(fd, reference[step], CACHED_FILE_BYTES);
    close(fd);
    assert_true(reference_bytes > (int64_t)NX * NY * 8 && reference_bytes < CACHED_FILE_BYTES);
}

typedef struct tally {
    int files, damaged, written_late, failed;
} tally;

/* Every file that has its name, as the server has it now. By rank 0. */
static void look_at_server(tally *t)
{
    pthread_mutex_lock(&server->lock);
    for (int i = 0; i < CACHED_NAMES; i++) {
        const cached_name *n = &server->name[i];
        int step, end = 0;
        if (sscanf(n->name, "/run/step_%d.h5%n", &step, &end) != 1 || !end || n->name[end]) continue;
        const cached_file *f = &server->file[n->file];
        t->files++;
        t->written_late += f->late_writes > 0;
        t->damaged += f->bytes != reference_bytes || memcmp(f->data, reference[step], (size_t)f->bytes) != 0;
    }
    pthread_mutex_unlock(&server->lock);
}

typedef struct way { /* of writing */
    checkpoint_verify_how how;
    bool columns, async;
    int aggregators;
} way;

static void write_some(int files, const way *by, tally *t)
{
    char dir[PATH_BYTES];
    checkpoint_status status;
    checkpoint_state s[STEPS];
    snprintf(dir, sizeof dir, "%s/run", folder);
    for (int i = 0; i < STEPS; i++) s[i] = state_of(1 + i, by->columns, by->how, by->aggregators);
    writer *w = writer_create(MPI_COMM_WORLD, dir, (retain_rule){ 0, 0 }, by->async, &status, &why);
    if (status != CHECKPOINT_OK) fail_msg("%s", why.text);
    for (int i = 0; i < files; i++) {
        const writer_request request = { .state = &s[i % STEPS], .ready = fixture_ready };
        status = writer_submit(w, &request, &why);
        if (status == CHECKPOINT_OK) status = writer_wait(w, &why);
        if (status != CHECKPOINT_OK && t->failed++ == 0) say("%s\n", why.text);
        if (fixture_rank(MPI_COMM_WORLD) == 0) look_at_server(t);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    writer_destroy(&w);
    if (fixture_rank(MPI_COMM_WORLD) == 0) look_at_server(t);
    for (int i = 0; i < STEPS; i++) free(s[i].field[0].data);
}

static tally write_on_hosts(int files, const way *by, int version, uint64_t seed)
{
    const int rank = fixture_rank(MPI_COMM_WORLD);
    tally t = { 0, 0, 0, 0 };
    if (rank == 0) cached_empty(server, version, seed);
    MPI_Barrier(MPI_COMM_WORLD);
    cached_start(server, folder, host_of(rank, fixture_ranks(MPI_COMM_WORLD)));
    write_some(files, by, &t);
    MPI_Barrier(MPI_COMM_WORLD);
    cached_start(NULL, "", 0);
    if (rank == 0 && (t.damaged || t.written_late || t.failed))
        print_message(
            "verify %d, %s, %d aggregators, by %s: of %d looks %d damaged, %d written late; %d failed\n",
            (int)by->how, by->columns ? "columns" : "rows", by->aggregators, by_node ? "node" : "slot",
            t.files, t.damaged, t.written_late, t.failed);
    return t;
}

static void no_file_loses_a_byte(void **state)
{
    (void)state;
    const int rank = fixture_rank(MPI_COMM_WORLD), ranks = fixture_ranks(MPI_COMM_WORLD);
    const char *asked = getenv("WEFT_CACHED_FILES");
    /* each step's file once, and once more beside its own older one */
    const int files = asked ? atoi(asked) : SANITIZED ? 6 : 24;
    tally all = { 0, 0, 0, 0 };
    server = cached_map(folder);
    if (!server) MPI_Abort(MPI_COMM_WORLD, 1);
    for (int step = 1; step <= STEPS; step++) make_reference(step);
    for (int i = 0; i < 16; i++) {
        by_node = i / 8;
        const way by = { .how = i % 2   ? CHECKPOINT_VERIFY_OFF
                                : i % 4 ? CHECKPOINT_VERIFY_SAMPLE
                                        : CHECKPOINT_VERIFY_FULL,
                         .columns = i / 2 % 2,
                         .async = i % 3 > 0,
                         .aggregators = i / 4 % 2 ? ranks : 0 };
        const tally t = write_on_hosts(files, &by, 3 + i % 2, (uint64_t)(i * 100 + ranks));
        all = (tally){ all.files + t.files, all.damaged + t.damaged, all.written_late + t.written_late,
                       all.failed + t.failed };
    }
    for (int step = 1; step <= STEPS; step++) free(reference[step]);
    munmap(server, sizeof *server);
    say("%d looks at files\n", all.files);
    assert_true(on_all(MPI_COMM_WORLD, rank != 0 || (all.files > 0 && all.damaged + all.written_late == 0)));
    assert_int_equal(all.failed, 0);
}

int main(int argc, char **argv)
{
    checkpoint_before_mpi_init();
    MPI_Init(&argc, &argv);
    fixture_folder(folder);
    const struct CMUnitTest tests[] = { cmocka_unit_test(shared_pages_lose_bytes),
                                        cmocka_unit_test(names_used_twice_hit_the_wrong_file),
                                        cmocka_unit_test(no_file_loses_a_byte) };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fixture_remove(folder);
    MPI_Finalize();
    return failed ? 1 : 0;
}
