/* Records of runs that end at the same time are whole lines, one each; what JSON cannot say is null. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "output/record.h"

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

static void put(const char *text)
{
    FILE *f = fopen(path, "w");
    fputs(text, f);
    fclose(f);
}

static void expect_text(const char *wanted)
{
    char text[256] = "";
    FILE *f = fopen(path, "r");
    (void)!fread(text, 1, sizeof text - 1, f);
    fclose(f);
    assert_string_equal(text, wanted);
}

static void after_a_line_cut_short(void **state)
{
    static const char *const cases[][2] = { { "", "{\"a\":1}\n" },
                                            { "{}\n", "{}\n{\"a\":1}\n" },
                                            { "{\"half\":", "{\"half\":\n{\"a\":1}\n" } };
    json_t *o = json_pack("{s:i}", "a", 1);
    for (int i = 0; i < 3; i++) {
        put(cases[i][0]);
        assert_true(record_append(path, o, &why));
        expect_text(cases[i][1]);
    }
    json_decref(o);
}

/* The sentence says why it failed, and which file in TMPDIR has the record. */
static void kept(const char *name, const json_t *o, const char *wanted)
{
    char folder[] = "/tmp/weft_kept.XXXXXX", line[4 * PADDING_BYTES] = "";
    assert_non_null(mkdtemp(folder));
    setenv("TMPDIR", folder, 1);
    assert_false(record_append(name, o, &why));
    assert_memory_equal(why.text, wanted, strlen(wanted));
    char *const file = strstr(why.text, folder), *const end = strstr(why.text, " has it");
    assert_true(file && end);
    *end = '\0';
    FILE *f = fopen(file, "r");
    json_t *const found = fgets(line, sizeof line, f) ? json_loads(line, 0, NULL) : NULL;
    assert_true(json_equal(found, o));
    json_decref(found);
    fclose(f);
    unlink(file);
    rmdir(folder);
}

static void failures(void **state)
{
    json_t *o = numbered(0, 0);
    kept("/nonexistent/r.jsonl", o,
         "cannot append the record to /nonexistent/r.jsonl: No such file or directory; /tmp/weft_kept.");
    kept("/dev/full", o, "cannot append the record to /dev/full: No space left on device; /tmp/weft_kept.");
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0); /* which nothing reads */
    kept(path, o, "cannot append the record to /tmp/weft_record_");
    unlink(path);

    /* Half a line is taken back: the file ends where it ended. */
    struct rlimit old;
    put("{}\n");
    getrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 1000, old.rlim_max });
    const bool ok = record_append(path, o, &why);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_false(ok);
    expect_text("{}\n");
    json_decref(o);
}

static void expect_json(json_t *value, const char *wanted)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY);
    assert_string_equal(text, wanted);
    free(text);
    json_decref(value);
}

/* Another process that never gives its lock back is waited for by seconds. */
static void beside_a_lock(void **state)
{
    FILE *f = fopen(path, "w");
    json_t *o = json_pack("{s:i}", "a", 1);
    assert_int_equal(flock(fileno(f), LOCK_EX), 0);
    alarm(60);
    assert_true(record_append(path, o, &why));
    alarm(0);
    fclose(f);
    json_decref(o);
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
    const struct CMUnitTest tests[] = { cmocka_unit_test(at_the_same_time),
                                        cmocka_unit_test(after_a_line_cut_short), cmocka_unit_test(failures),
                                        cmocka_unit_test(beside_a_lock), cmocka_unit_test(values) };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove(path);
    return failed ? 1 : 0;
}
