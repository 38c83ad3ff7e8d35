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
#include <unistd.h>

#include "output/record.h"
#include "support/unit.h"

enum { WRITERS = 6, LINES = 40, PADDING_BYTES = 20000 };
static sentence why;
static char path[64];

static json_t *numbered(int writer, int line)
{
    static char padding[PADDING_BYTES];
    memset(padding, 'a' + writer, sizeof padding - 1);
    return json_pack("{s:i, s:i, s:s}", "writer", writer, "line", line, "padding", padding);
}

static void at_the_same_time(void **state)
{
    for (int w = 0; w < WRITERS; w++)
        if (fork() == 0) {
            bool ok = true;
            for (int i = 0; i < LINES; i++) {
                json_t *o = numbered(w, i);
                ok = record_append(path, o, &why) && ok;
                json_decref(o);
            }
            _exit(ok ? 0 : 1);
        }
    for (int w = 0; w < WRITERS; w++) {
        int status;
        wait(&status);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    static char line[2 * PADDING_BYTES];
    int seen[WRITERS] = { 0 };
    FILE *f = fopen(path, "r");
    while (fgets(line, sizeof line, f)) {
        json_error_t error;
        json_t *o = json_loads(line, 0, &error);
        if (!o) fail_msg("%s", error.text);
        const int w = (int)json_integer_value(json_object_get(o, "writer"));
        assert_int_equal(json_integer_value(json_object_get(o, "line")), seen[w]++);
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
static void printed(const char *name, const json_t *o, const char *wanted)
{
    char *text;
    size_t bytes;
    FILE *const out = stdout;
    stdout = open_memstream(&text, &bytes);
    const bool ok = record_append(name, o, &why);
    fclose(stdout);
    stdout = out;
    json_t *const found = json_loads(text, 0, NULL);
    assert_true(!ok && json_equal(found, o));
    assert_memory_equal(why.text, wanted, strlen(wanted));
    json_decref(found);
    free(text);
}

static void failures(void **state)
{
    json_t *o = numbered(0, 0);
    struct rlimit old;
    struct stat info;
    printed("/nonexistent/r.jsonl", o,
            "cannot append the record to /nonexistent/r.jsonl: No such file or directory; it is printed");
    printed("/dev/full", o, "cannot append the record to /dev/full: No space left on device; it is printed");
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0); /* which nothing reads */
    printed(path, o, "cannot append the record to /tmp/weft_record_");
    unlink(path);

    /* Half a line is taken back: the file ends where it ended. */
    getrlimit(RLIMIT_FSIZE, &old);
    (void)signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 1000, old.rlim_max });
    const bool ok = record_append(path, o, &why);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_true(!ok && stat(path, &info) == 0 && info.st_size == 0);
    json_decref(o);
}

static void expect_json(json_t *value, const char *wanted)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY);
    assert_string_equal(text, wanted);
    free(text);
    json_decref(value);
}

static void values(void **state)
{
    int y, mo, d, h, mi, s, end = 0;
    json_t *now = record_now();
    assert_int_equal(
        sscanf(json_string_value(now), "%4d-%2d-%2dT%2d:%2d:%2dZ%n", &y, &mo, &d, &h, &mi, &s, &end), 6);
    assert_int_equal(end, 20);
    json_decref(now);
    expect_json(record_number(0.25), "0.25");
    expect_json(record_number(NAN), "null");
    expect_json(record_number(-INFINITY), "null");
    expect_json(record_text("caf\xc3\xa9 \"1\""), "\"caf\xc3\xa9 \\\"1\\\"\"");
    expect_json(record_text("caf\xe9.ini"), "\"caf?.ini\"");
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
