/* Recorded checks have the verdict that they must have: healthy machines deliver, and where one rank or
 * link was made slower it alone is named. Healthy ranks of a crowded host are not judged: all hides in
 * noise.
 *
 * tests/support/records/checks/ holds files of lines, one line a check: {"slow_rank": 2 or null ("slow_link":
 * [1, 2]), "git": ..., "started": ..., "rounds": [{"figures": ..., "faults": ...}, ...], "ranks": [...]}, the
 * last two as `check` of a record has them, packed by gzip. */
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

static const char *text_of(json_t *o, const char *key)
{
    const char *const text = json_string_value(json_object_get(o, key));
    return text ? text : "";
}

static void read_rank(check_findings *f, size_t r, json_t *o)
{
    check_rank *rank = &f->rank[r];
    snprintf(rank->host, sizeof rank->host, "%s", text_of(o, "host"));
    snprintf(rank->uuid, sizeof rank->uuid, "%s", text_of(o, "uuid"));
    rank->first_of_host = (int)r;
    for (size_t other = r; other-- > 0;)
        if (strcmp(f->rank[other].host, rank->host) == 0) rank->first_of_host = (int)other;
    f->hosts += rank->first_of_host == (int)r;
}

/* Earlier checks measured each device at once with the others and alone: now GPUs at once, but for copies to
 * and from the host, and processors alone. */
static bool is_measured(const check_findings *f, check_like like, bool alone)
{
    const bool turns = f->device == DEVICE_HOST || check_likes[like].turns;
    return f->ranks == 1 || like == CHECK_PATTERNS || like >= CHECK_PAIR_ONEWAY || alone == turns;
}

static void read_figure(check_findings *f, json_t *o)
{
    check_figure g = { .a = (int)json_integer_value(json_object_get(o, "a")),
                       .b = (int)json_integer_value(json_object_get(o, "b")),
                       .round = f->rounds,
                       .rate = json_number_value(json_object_get(o, "rate")),
                       .noise = json_number_value(json_object_get(o, "noise")) };
    const bool alone = json_is_true(json_object_get(o, "alone"));
    for (; g.like < CHECK_LIKES; g.like++) /* others no check measures any more */
        if (strcmp(check_likes[g.like].key, text_of(o, "like")) == 0 && is_measured(f, g.like, alone))
            check_findings_add(f, g, NULL);
}

static void read_check(check_findings *f, const json_t *o)
{
    json_t *const ranks = json_object_get(o, "ranks"), *round, *one;
    size_t i, k;
    const char *const gpu = text_of(json_array_get(ranks, 0), "gpu");
    check_findings_create(f, gpu[0] ? DEVICE_CUDA : DEVICE_HOST, (int)json_array_size(ranks));
    snprintf(f->device_name, sizeof f->device_name, "%s", gpu);
    json_array_foreach(ranks, i, one) read_rank(f, i, one);
    json_array_foreach(json_object_get(o, "rounds"), i, round)
    {
        json_array_foreach(json_object_get(round, "figures"), k, one) read_figure(f, one);
        assert_int_equal(json_array_size(json_object_get(round, "faults")), 0);
        f->rounds++;
    }
    assert_true(f->figures > 0);
}

/* Whether the verdict is the one that the line asks for. */
static bool holds(const json_t *o, const char *file, int line)
{
    const json_t *rank = json_object_get(o, "slow_rank"), *link = json_object_get(o, "slow_link");
    check_findings f;
    check_verdict v;
    check_reference r = { .name = "" };
    sentence why;
    read_check(&f, o);
    if (f.device == DEVICE_CUDA) {
        assert_true(check_reference_read("inputs/reference/h100.json", &r, &why));
        assert_string_equal(r.gpu, f.device_name);
    }
    check_judge(&f, &r, &v);
    const check_word healthy = f.device == DEVICE_CUDA ? CHECK_DELIVERS : CHECK_NOT_JUDGED;
    bool right = (rank || link) && v.word == (json_is_null(rank) ? healthy : CHECK_SLOW);
    if (v.word == CHECK_SLOW)
        right = right && v.suspect.part == (link ? CHECK_LINK : CHECK_GPU) &&
                v.suspect.a == json_integer_value(link ? json_array_get(link, 0) : rank);
    print_message("%s line %d, %d ranks, %d rounds: %s%s\n", file, line, f.ranks, f.rounds,
                  check_word_name[v.word], right ? "" : ", WRONG");
    if (v.word == CHECK_SLOW) print_message("    %s: %s\n", v.suspect.name.text, v.suspect.evidence.text);
    check_findings_destroy(&f);
    return right;
}

static int wrong_lines_of(const char *path)
{
    char command[512], *text = NULL;
    size_t bytes = 0;
    int line = 0, wrong = 0;
    snprintf(command, sizeof command, "gzip -dc %s", path);
    FILE *const from = popen(command, "r");
    assert_non_null(from);
    while (getline(&text, &bytes, from) > 0) {
        json_t *o = json_loads(text, 0, NULL);
        wrong += !holds(o, path + sizeof "tests/support/records/checks", ++line);
        json_decref(o);
    }
    free(text);
    assert_true(pclose(from) == 0 && line > 0);
    return wrong;
}

static void all_records(void **state)
{
    glob_t files;
    int wrong = 0;
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
