/* Recorded checks have the verdict that they must have: healthy machines deliver, and where one rank was
 * or link was made slower it alone is named. Healthy ranks of a crowded host are not judged: all hides in
 * noise.
 *
 * tests/support/records/checks/ holds files of lines, one line a check: {"slow_rank": 2 or null ("slow_link":
 * [1, 2]), "git":
 * ..., "started": ..., "rounds": [{"figures": ..., "faults": ...}, ...], "ranks": [...]}, the last two as
 * `check` of a record has them, packed by gzip. */
#include <glob.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <jansson.h>

#include "check/verdict.h"
#include "ranks/check.h"

static const char *text_of(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    return text ? text : "";
}

static int int_of(const json_t *o, const char *key)
{
    return (int)json_integer_value(json_object_get(o, key));
}

static double number_of(const json_t *o, const char *key)
{
    const json_t *number = json_object_get(o, key);
    return json_is_number(number) ? json_number_value(number) : NAN;
}

static void read_ranks(check_findings *f, const json_t *ranks)
{
    for (int r = 0; r < f->ranks; r++) {
        const json_t *o = json_array_get(ranks, (size_t)r);
        check_rank *rank = &f->rank[r];
        snprintf(rank->host, sizeof rank->host, "%s", text_of(o, "host"));
        snprintf(rank->gpu, sizeof rank->gpu, "%s", text_of(o, "gpu"));
        snprintf(rank->uuid, sizeof rank->uuid, "%s", text_of(o, "uuid"));
        rank->first_of_host = r;
        for (int other = r - 1; other >= 0; other--)
            if (strcmp(f->rank[other].host, rank->host) == 0) rank->first_of_host = other;
        f->hosts += rank->first_of_host == r;
    }
}

/* Earlier checks measured each device at once with the others and alone: now GPUs at once, but for copies to
 * and from the host, and processors alone. */
static bool is_measured(const check_findings *f, check_like like, bool alone)
{
    const bool turns = f->device == DEVICE_HOST || like == CHECK_TO_HOST || like == CHECK_FROM_HOST;
    return f->ranks == 1 || like == CHECK_PATTERNS || like >= CHECK_PAIR_ONEWAY || alone == turns;
}

static void read_round(check_findings *f, const json_t *round)
{
    size_t i;
    json_t *o;
    json_array_foreach(json_object_get(round, "figures"), i, o)
    {
        int like = 0;
        while (like < CHECK_LIKES && strcmp(check_likes[like].key, text_of(o, "like")) != 0) like++;
        if (like == CHECK_LIKES) continue; /* no check measures it any more */
        const bool alone = json_is_true(json_object_get(o, "alone"));
        const check_figure g = { (check_like)like, int_of(o, "a"),       int_of(o, "b"),       alone,
                                 f->rounds,        number_of(o, "rate"), number_of(o, "noise") };
        if (is_measured(f, g.like, alone)) check_findings_add(f, &g);
    }
    assert_int_equal(json_array_size(json_object_get(round, "faults")), 0);
    f->rounds++;
}

static void read_check(check_findings *f, const json_t *o)
{
    const json_t *ranks = json_object_get(o, "ranks");
    const char *gpu = text_of(json_array_get(ranks, 0), "gpu");
    size_t i;
    json_t *round;
    assert_true(json_array_size(ranks) > 0);
    check_findings_create(f, gpu[0] ? DEVICE_CUDA : DEVICE_HOST, (int)json_array_size(ranks));
    snprintf(f->device_name, sizeof f->device_name, "%s", gpu);
    read_ranks(f, ranks);
    json_array_foreach(json_object_get(o, "rounds"), i, round) read_round(f, round);
    assert_true(f->figures > 0);
}

/* Whether the verdict is the one that the line asks for. */
static bool holds(const json_t *o, const char *file, int line)
{
    const json_t *slow_rank = json_object_get(o, "slow_rank"), *slow_link = json_object_get(o, "slow_link");
    check_findings f;
    check_verdict v;
    check_reference r = { .name = "" };
    sentence why;
    read_check(&f, o);
    if (f.device == DEVICE_CUDA) assert_true(check_reference_read("inputs/reference/h100.json", &r, &why));
    if (f.device == DEVICE_CUDA) assert_string_equal(r.gpu, f.device_name);
    check_judge(&f, &r, &v);
    bool right =
        (slow_rank || slow_link) &&
        (json_is_null(slow_rank) ? v.word == (f.device == DEVICE_CUDA ? CHECK_DELIVERS : CHECK_NOT_JUDGED)
                                 : v.word == CHECK_SLOW);
    for (int i = 0; i < v.suspects; i++)
        right = right && v.suspect[i].part == (slow_link ? CHECK_LINK : CHECK_GPU) &&
                v.suspect[i].a == json_integer_value(slow_link ? json_array_get(slow_link, 0) : slow_rank);
    print_message("%s line %d, %d ranks, %d rounds: %s%s%s\n", file, line, f.ranks, f.rounds,
                  check_word_name[v.word], right ? "" : ", WRONG", v.suspects ? ":" : "");
    for (int i = 0; i < v.suspects; i++)
        print_message("    %s %.0f %%: %s\n", v.suspect[i].name.text, 100 * v.suspect[i].factor,
                      v.suspect[i].evidence.text);
    check_findings_destroy(&f);
    return right;
}

static int wrong_lines_of(const char *path)
{
    char command[512];
    char *text = NULL;
    size_t bytes = 0;
    int line = 0, wrong = 0;
    snprintf(command, sizeof command, "gzip -dc %s", path);
    FILE *const from = popen(command, "r");
    assert_non_null(from);
    while (getline(&text, &bytes, from) > 0) {
        json_error_t error;
        json_t *o = json_loads(text, 0, &error);
        if (!o) print_error("%s line %d: %s\n", path, line + 1, error.text);
        assert_non_null(o);
        wrong += !holds(o, path + sizeof "tests/support/records/checks", ++line);
        json_decref(o);
    }
    free(text);
    assert_int_equal(pclose(from), 0);
    assert_true(line > 0);
    return wrong;
}

static void all_records(void **state)
{
    (void)state;
    glob_t files;
    int wrong = 0;
    /* there are some */
    assert_int_equal(glob("tests/support/records/checks/*.jsonl.gz", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) wrong += wrong_lines_of(files.gl_pathv[i]);
    globfree(&files);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(all_records) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
