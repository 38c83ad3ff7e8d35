/* The page of a check is whole or absent, has no text of records as markup, and draws each component's best
 * round.
 *
 * With arguments FILE.jsonl PAGE.html it writes the page of these records, one per line, and tests nothing:
 * for check_report.bats. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "check_page/report_digest.h"
#include "check_page/report_html.h"

static json_t *round_of(int round, double of_rank_0, double of_rank_1)
{
    json_error_t why;
    json_t *record = json_pack_ex(
        &why, 0,
        "{s:s, s:{s:s, s:s, s:[{s:s, s:b, s:i, s:f, s:f, s:i, s:i, s:f, s:n, s:s}], s:[], s:[{s:s, s:i, s:i, "
        "s:b, s:i, s:f}, "
        "{s:s, s:i, s:i, s:b, s:i, s:f}], s:[{s:s, s:i, s:i, s:i, s:s}], s:[{s:s}, {s:s}]}}",
        "command", "weft check --</script><b>", "check", "verdict", "slow", "level", "soak", "rows", "like",
        "copy", "alone", 0, "count", 2, "median", 8e9, "least", 7e9, "least_a", 0, "least_b", -1, "noise",
        0.03, "reference", "verdict", "slow", "suspects", "figures", "like", "copy", "a", 0, "b", -1, "alone",
        0, "round", round, "rate", of_rank_0, "like", "copy", "a", 1, "b", -1, "alone", 0, "round", round,
        "rate", of_rank_1, "faults", "like", "copy", "a", 1, "b", -1, "round", round, "where", "word 1 & <2>",
        "ranks", "host", "</script><script>alert(1)</script>", "host", "n2");
    if (!record) print_error("%s\n", why.text);
    assert_non_null(record);
    return record;
}

static json_t *two_rounds(void)
{
    json_t *records = json_array();
    json_array_append_new(records, round_of(0, 7e9, 8e9));
    json_array_append_new(records, round_of(1, 6e9, 9e9));
    return records;
}

static void the_best_round_of_each_and_the_median_of_all(void **state)
{
    json_t *records = two_rounds(), *digest = check_report_digest(records),
           *group = json_array_get(json_object_get(digest, "groups"), 0);
    char *text = json_dumps(json_object_get(group, "components"), JSON_COMPACT);
    assert_string_equal(text, "[[0,-1,7000000000.0],[1,-1,9000000000.0]]");
    free(text);
    text = json_dumps(json_object_get(group, "trend"), JSON_COMPACT);
    assert_string_equal(text, "[[0,7500000000.0,7000000000.0,0,-1],[1,7500000000.0,6000000000.0,0,-1]]");
    free(text);
    assert_int_equal(json_array_size(json_object_get(digest, "faults")), 2);
    json_decref(digest);
    json_decref(records);
}

static char *content(const char *path)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_true(getdelim(&text, &bytes, 0, file) > 0);
    fclose(file);
    return text;
}

static int times(const char *text, const char *part)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++) count++;
    return count;
}

static void text_of_records_is_no_markup(void **state)
{
    char path[] = "check_report.XXXXXX";
    const int fd = mkstemp(path);
    json_t *records = two_rounds();
    sentence why;
    assert_true(fd >= 0 && close(fd) == 0);
    assert_true(check_report_write(path, records, &why));
    char *text = content(path);
    assert_int_equal(times(text, "</script>"), 2);
    assert_int_equal(times(text, "<script>alert"), 0);
    assert_int_equal(times(text, "weft check --&lt;/script&gt;&lt;b&gt;"), 1);
    assert_int_equal(times(text, "word 1 &amp; &lt;2&gt;"), 2);
    assert_int_equal(times(text, "<!-- check -->"), 0);
    assert_string_equal(text + strlen(text) - strlen("</html>\n"), "</html>\n");
    free(text);
    assert_false(check_report_write("no_such_folder/page.html", records, &why));
    assert_string_equal(why.text, "no_such_folder/page.html: No such file or directory");
    json_decref(records);
    unlink(path);
}

static int page_of(const char *lines, const char *path)
{
    sentence why;
    json_t *records = json_array();
    FILE *file = fopen(lines, "r");
    for (json_t *record; file && (record = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL)) != NULL;)
        json_array_append_new(records, record);
    if (file) fclose(file);
    const bool written = json_array_size(records) > 0 && check_report_write(path, records, &why);
    json_decref(records);
    return written ? 0 : 1;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_round_of_each_and_the_median_of_all),
        cmocka_unit_test(text_of_records_is_no_markup),
    };
    return argc == 3 ? page_of(argv[1], argv[2]) : cmocka_run_group_tests(tests, NULL, NULL);
}
