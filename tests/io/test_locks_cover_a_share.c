/* Where hosts are not coherent and ranks of several write, each holds a lock on the bytes of its share, in
 * whole pieces of the file, and on no other's, until it unlocks: seen by another descriptor of the file, as
 * by another host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <unistd.h>

#include "support/checkpoint_fixture.h"
#include "writer/checkpoint_job.h"

enum { NX = 1003, NY = 1500, COUNT = 3, FIELD_AT_BYTES = 8192 };

static bool is_free(int fd, uint64_t from, uint64_t to)
{
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)from, .l_len = (off_t)(to - from)
    };
    assert_int_equal(fcntl(fd, F_OFD_GETLK, &lock), 0);
    return lock.l_type == F_UNLCK;
}

/* All pieces that the file has, of which a writer holds those that its share touches. */
static void expect_held(const checkpoint_job *j, int other, bool held)
{
    const uint64_t end = FIELD_AT_BYTES + checkpoint_field_bytes(&j->state, 0), piece = j->plan.piece_bytes;
    writers_range range[WRITERS_RANGES];
    const int ranges = writers_ranges(&j->plan, &j->state, &j->layout, 0, j->number, range);
    for (uint64_t at = 0; at < end; at += piece) {
        bool touched = false;
        for (int r = 0; r < ranges; r++)
            touched = touched || (range[r].from < at + piece && at < range[r].to);
        const bool free_at_first = is_free(other, at, at + 1),
                   free_at_last = is_free(other, at + piece - 1, at + piece);
        if (free_at_first != !(held && touched) || free_at_last != free_at_first)
            fail_msg("writer %d, byte %llu", j->number, (unsigned long long)at);
    }
}

static void each_its_own(void **state)
{
    (void)state;
    const int of[COUNT] = { 0, 1, 2 };
    hosts *h = hosts_make(of, COUNT);
    char path[] = "/tmp/weft_test_XXXXXX";
    const int other = mkstemp(path);
    checkpoint_state s = { .kind = "heat", .type = DTYPE_F64, .fields = 1, .aggregators = COUNT };
    s.field[0] = (checkpoint_field){ .name = "u", .nx = NX, .ny = NY };
    assert_true(h && other >= 0);
    for (int n = 0; n < COUNT; n++) {
        checkpoint_job j;
        assert_int_equal(checkpoint_job_begin(&j, n, &s, path), CHECKPOINT_OK);
        j.layout.field_at_bytes[0] = FIELD_AT_BYTES;
        writers_plan(&j.plan, &s, &(writers_facts){ .hosts = h, .file_system = 0x6969 });
        assert_int_equal(j.plan.rule, WRITERS_LOCKED);
        j.number = writers_number(&j.plan, n);
        j.fd = open(path, O_RDWR);
        if (checkpoint_job_lock(&j) != CHECKPOINT_OK) fail_msg("%s", j.why.text);
        expect_held(&j, other, true);
        checkpoint_job_unlock(&j);
        expect_held(&j, other, false);
        checkpoint_job_end(&j);
    }
    hosts_destroy(&h);
    close(other);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(each_its_own) };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
