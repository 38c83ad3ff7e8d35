/* Records of runs that end at the same time are whole lines, one each; what JSON cannot say is null. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "output/record.h"
#include "support/unit.h"

enum { WRITERS = 6, LINES = 40, PADDING_BYTES = 20000 };
static sentence why;
static char path[64];

static bool append_numbered(int writer, int line)
{
    static char padding[PADDING_BYTES];
    memset(padding, 'a' + writer, sizeof padding - 1);
    json_t *o = json_pack("{s:i, s:i, s:s}", "writer", writer, "line", line, "padding", padding);
    const bool ok = record_append(path, o, &why);
    json_decref(o);
    return ok;
}

static void at_the_same_time(void **state)
{
    static char line[2 * PADDING_BYTES];
    int seen[WRITERS] = { 0 };
    for (int w = 0; w < WRITERS; w++)
        if (fork() == 0) {
            bool ok = true;
            for (int i = 0; i < LINES; i++) ok = append_numbered(w, i) && ok;
            _exit(ok ? 0 : 1);
        }
    for (int w = 0; w < WRITERS; w++) {
        int status;
        wait(&status);
        assert_int_equal(status, 0);
    }
    FILE *f = fopen(path, "r");
    while (fgets(line, sizeof line, f)) {
        int w, number;
        json_t *o = json_loads(line, 0, NULL);
        assert_int_equal(json_unpack(o, "{s:i, s:i}", "writer", &w, "line", &number), 0);
        assert_int_equal(number, seen[w]++);
        json_decref(o);
    }
    fclose(f);
    for (int w = 0; w < WRITERS; w++) assert_int_equal(seen[w], LINES);
}

/* The file has that text; the record {"a":1} is appended, also while another process holds the lock, which is
 * waited for by seconds. */
static void what_was_there(void **state)
{
    static const struct {
        const char *text, *wanted;
        bool locked;
    } cases[] = {
        { "", "{\"a\":1}\n", false },
        { "{}\n", "{}\n{\"a\":1}\n", false },
        { "{\"half\":", "{\"half\":\n{\"a\":1}\n", false },
        { "", "{\"a\":1}\n", true },
    };
    json_t *o = json_pack("{s:i}", "a", 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char found[64] = "";
        FILE *f = fopen(path, "w+");
        fputs(cases[i].text, f);
        fflush(f);
        if (cases[i].locked) assert_int_equal(flock(fileno(f), LOCK_EX), 0);
        assert_true(record_append(path, o, &why));
        rewind(f);
        (void)!fread(found, 1, sizeof found - 1, f);
        fclose(f);
        assert_string_equal(found, cases[i].wanted);
    }
    json_decref(o);
}

/* The sentence says why it failed, and the record is printed. */
static void failures(void **state)
{
    static const char *const cases[][2] = {
        { "/nonexistent/r.jsonl", ": No such file or directory; it is printed" },
        { "/dev/full", ": No space left on device; it is printed" },
        { path, ": No such device or address; it is printed" }, /* a pipe which nothing reads */
    };
    json_t *const o = json_pack("{s:i}", "a", 1);
    struct rlimit old;
    struct stat info;
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    for (int i = 0; i < 3; i++) {
        char *text, wanted[200];
        size_t bytes;
        FILE *const out = stdout;
        stdout = open_memstream(&text, &bytes);
        const bool ok = record_append(cases[i][0], o, &why);
        fclose(stdout);
        stdout = out;
        assert_false(ok);
        assert_string_equal(text, "{\"a\":1}\n");
        free(text);
        snprintf(wanted, sizeof wanted, "cannot append the record to %s%s", cases[i][0], cases[i][1]);
        assert_memory_equal(why.text, wanted, strlen(wanted));
    }
    json_decref(o);
    unlink(path);

    /* Half a line is taken back: the file ends where it ended. */
    getrlimit(RLIMIT_FSIZE, &old);
    (void)signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 1000, old.rlim_max });
    const bool ok = append_numbered(0, 0);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_true(!ok && stat(path, &info) == 0 && info.st_size == 0);
}

static void values(void **state)
{
    struct {
        json_t *value;
        const char *wanted;
    } cases[] = {
        { record_number(0.25), "0.25" },
        { record_number(NAN), "null" },
        { record_number(-INFINITY), "null" },
        { record_text("caf\xc3\xa9 \"1\""), "\"caf\xc3\xa9 \\\"1\\\"\"" },
        { record_text("caf\xe9.ini"), "\"caf?.ini\"" },
    };
    struct tm utc;
    json_t *const now = record_now();
    assert_string_equal(strptime(json_string_value(now), "%Y-%m-%dT%H:%M:%SZ", &utc), "");
    json_decref(now);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = json_dumps(cases[i].value, JSON_ENCODE_ANY);
        assert_string_equal(text, cases[i].wanted);
        free(text);
        json_decref(cases[i].value);
    }
}

int main(void)
{
    snprintf(path, sizeof path, "/tmp/weft_record_XXXXXX");
    const int fd = mkstemp(path);
    if (fd < 0) return 1;
    close(fd);
    const struct CMUnitTest tests[] = { cmocka_unit_test(at_the_same_time), cmocka_unit_test(what_was_there),
                                        cmocka_unit_test(failures), cmocka_unit_test(values) };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove(path);
    return failed ? 1 : 0;
}
