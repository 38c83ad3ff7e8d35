#include "check_page/report_digest.h"

#include <stdlib.h>
#include <string.h>

#include "judge/findings.h"
#include "output/record.h"
#include "ranks/check.h"

static double number(const json_t *o, const char *key) { return json_number_value(json_object_get(o, key)); }
static int whole(const json_t *o, const char *key)
{
    return (int)json_integer_value(json_object_get(o, key));
}

/* ---- figures of all rounds ---- */

static const json_t *part_of(const json_t *records, size_t round, const char *key)
{
    return json_object_get(json_object_get(json_array_get(records, round), "check"), key);
}

static check_figure *figures_of(const json_t *records, size_t *count)
{
    size_t most = 1;
    for (size_t r = 0; r < json_array_size(records); r++)
        most += json_array_size(part_of(records, r, "figures"));
    check_figure *all = CHECK_ALLOC(calloc(most, sizeof *all)), *f = all;
    for (size_t r = 0; r < json_array_size(records); r++) {
        size_t i;
        json_t *o;
        json_array_foreach((json_t *)part_of(records, r, "figures"), i, o) {
            const char *key = json_string_value(json_object_get(o, "like"));
            *f = (check_figure){ key ? check_like_of(key) : CHECK_LIKES,
                                 whole(o, "a"),
                                 whole(o, "b"),
                                 json_is_true(json_object_get(o, "alone")),
                                 whole(o, "round"),
                                 number(o, "rate"),
                                 0 };
            if (f->like < CHECK_LIKES) f++;
        }
    }
    *count = (size_t)(f - all);
    return all;
}

static int ascending(double x, double y) { return (x > y) - (x < y); }

static int by_group(const check_figure *x, const check_figure *y)
{
    return x->like != y->like ? (int)x->like - (int)y->like : x->alone - y->alone;
}

static int by_component(const void *left, const void *right)
{
    const check_figure *x = left, *y = right;
    const int order = by_group(x, y) ? by_group(x, y) : x->a != y->a ? x->a - y->a : x->b - y->b;
    return order ? order : ascending(y->rate, x->rate);
}

static int by_round(const void *left, const void *right)
{
    const check_figure *x = left, *y = right;
    return x->round != y->round ? x->round - y->round : ascending(x->rate, y->rate);
}

/* ---- a group of them ---- */

/* Sorted by component, each one's best first. */
static json_t *components_of(const check_figure *f, size_t count)
{
    json_t *all = json_array();
    for (size_t i = 0; i < count; i++)
        if (i == 0 || f[i].a != f[i - 1].a || f[i].b != f[i - 1].b)
            json_array_append_new(all, json_pack("[i, i, f]", f[i].a, f[i].b, f[i].rate));
    return all;
}

/* Sorted by round, each one's least first. */
static json_t *trend_of(const check_figure *f, size_t count)
{
    json_t *all = json_array();
    for (size_t begin = 0, end; begin < count; begin = end) {
        for (end = begin; end < count && f[end].round == f[begin].round;) end++;
        const double median = (f[(begin + end - 1) / 2].rate + f[(begin + end) / 2].rate) / 2;
        json_array_append_new(
            all, json_pack("[i, f, f, i, i]", f[begin].round, median, f[begin].rate, f[begin].a, f[begin].b));
    }
    return all;
}

static const json_t *row_of(const json_t *rows, const check_figure *f)
{
    size_t i;
    json_t *row;
    json_array_foreach((json_t *)rows, i, row) {
        const char *like = json_string_value(json_object_get(row, "like"));
        if (like && check_like_of(like) == f->like && json_is_true(json_object_get(row, "alone")) == f->alone)
            return row;
    }
    return NULL;
}

/* Sorted by component; sorts anew. NULL of what has no median. */
static json_t *group_of(check_figure *f, size_t count, const json_t *rows)
{
    const json_t *row = row_of(rows, f);
    if (!json_is_number(json_object_get(row, "median"))) return NULL;
    json_t *group = json_pack("{s:s, s:s, s:s, s:s, s:b, s:O, s:O?}", "key", check_like_key(f->like), "name",
                              check_like_name(f->like), "unit", check_like_unit(f->like), "part",
                              check_part_key(check_like_part(f->like)), "alone", f->alone, "median",
                              json_object_get(row, "median"), "reference", json_object_get(row, "reference"));
    json_object_set_new(group, "components", components_of(f, count));
    qsort(f, count, sizeof *f, by_round);
    json_object_set_new(group, "trend", trend_of(f, count));
    return group;
}

static json_t *groups_of(const json_t *records, const json_t *rows)
{
    json_t *groups = json_array();
    size_t count;
    check_figure *f = figures_of(records, &count);
    qsort(f, count, sizeof *f, by_component);
    for (size_t begin = 0, end; begin < count; begin = end) {
        for (end = begin; end < count && by_group(&f[begin], &f[end]) == 0;) end++;
        json_array_append_new(groups, group_of(f + begin, end - begin, rows));
    }
    free(f);
    return groups;
}

/* ---- what they are about ---- */

static json_t *some_keys(const json_t *o, const char *first)
{
    return json_pack("{s:O?, s:O?, s:O?}", first, json_object_get(o, first), "a", json_object_get(o, "a"),
                     "b", json_object_get(o, "b"));
}

static void add_keys_of(json_t *to, const json_t *from, const char *first)
{
    size_t i;
    json_t *o;
    json_array_foreach((json_t *)from, i, o) json_array_append_new(to, some_keys(o, first));
}

static void add_hosts(json_t *digest, const json_t *ranks)
{
    json_t *hosts = json_array(), *host_of = json_array(), *number_of = json_object();
    size_t i;
    json_t *rank;
    json_array_foreach((json_t *)ranks, i, rank) {
        json_t *name = json_object_get(rank, "host");
        const char *text = json_string_value(name) ? json_string_value(name) : "";
        if (!json_object_get(number_of, text)) {
            json_object_set_new(number_of, text, json_integer((json_int_t)json_array_size(hosts)));
            json_array_append_new(hosts, record_text(text));
        }
        json_array_append(host_of, json_object_get(number_of, text));
    }
    json_object_set_new(digest, "hosts", hosts);
    json_object_set_new(digest, "host_of", host_of);
    json_decref(number_of);
}

json_t *check_report_digest(const json_t *records)
{
    const size_t last = json_array_size(records) - 1;
    json_t *digest = json_object(), *faults = json_array(), *suspects = json_array();
    add_hosts(digest, part_of(records, last, "ranks"));
    add_keys_of(suspects, part_of(records, last, "suspects"), "part");
    for (size_t r = 0; r <= last; r++) add_keys_of(faults, part_of(records, r, "faults"), "like");
    json_object_set_new(digest, "suspects", suspects);
    json_object_set_new(digest, "faults", faults);
    json_object_set_new(digest, "groups", groups_of(records, part_of(records, last, "rows")));
    return digest;
}
