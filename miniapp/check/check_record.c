#include "check/check_record.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "output/record.h"
#include "ranks/check.h"

static json_t *row_json(const check_row *r)
{
    return json_pack("{s:s, s:b, s:i, s:o, s:o, s:i, s:i, s:o, s:o, s:o, s:b, s:s}", "like",
                     check_likes[r->like].key, "alone", r->alone, "count", r->count, "median",
                     record_number(r->median), "least", record_number(r->least), "least_a", r->least_a,
                     "least_b", r->least_b, "noise", record_number(r->noise), "smallest",
                     record_number(r->smallest), "reference", record_number(r->reference), "judged",
                     r->is_judged, "verdict", check_word_name(r->verdict));
}

static json_t *suspect_json(const check_suspect *s)
{
    return json_pack("{s:s, s:i, s:i, s:o, s:o, s:o, s:o}", "part", check_part_key(s->part), "a", s->a, "b",
                     s->b, "name", record_text(s->name.text), "factor", record_number(s->factor),
                     "confidence", record_number(s->confidence), "evidence", record_text(s->evidence.text));
}

static json_t *figure_json(const check_figure *g)
{
    return json_pack("{s:s, s:i, s:i, s:b, s:i, s:o, s:o}", "like", check_likes[g->like].key, "a", g->a, "b",
                     g->b, "alone", g->alone, "round", g->round, "rate", record_number(g->rate), "noise",
                     record_number(g->noise));
}

static json_t *fault_json(const check_fault *g)
{
    return json_pack("{s:s, s:i, s:i, s:i, s:o}", "like", check_likes[g->like].key, "a", g->a, "b", g->b,
                     "round", g->round, "where", record_text(g->where.text));
}

static json_t *rank_json(const check_rank *r)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b}", "host", record_text(r->host),
                     "gpu", record_text_or_null(r->gpu), "uuid", record_text_or_null(r->uuid), "pci",
                     record_text_or_null(r->pci), "clock_mhz", record_number(r->clock_mhz), "power_w",
                     record_number(r->power_w), "temperature_c", record_number(r->temperature_c),
                     "held_by_power", r->held_by_power, "held_by_heat", r->held_by_heat);
}

static json_t *ranks_json(const check_findings *f)
{
    json_t *ranks = json_array();
    for (int i = 0; i < f->ranks; i++) json_array_append_new(ranks, rank_json(&f->rank[i]));
    return ranks;
}

json_t *check_record(const check_findings *f, const check_verdict *v, int round, const char *level)
{
    json_t *rows = json_array(), *suspects = json_array(), *figures = json_array(), *faults = json_array(),
           *ranks = ranks_json(f);
    for (int i = 0; i < v->rows; i++) json_array_append_new(rows, row_json(&v->row[i]));
    for (int i = 0; i < v->suspects; i++) json_array_append_new(suspects, suspect_json(&v->suspect[i]));
    for (int i = 0; i < f->figures; i++)
        if (f->figure[i].round == round) json_array_append_new(figures, figure_json(&f->figure[i]));
    for (int i = 0; i < f->faults; i++)
        if (f->fault[i].round == round) json_array_append_new(faults, fault_json(&f->fault[i]));
    return json_pack("{s:s, s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "level", level, "round", round,
                     "verdict", check_word_name(v->word), "why", record_text_or_null(f->why.text),
                     "not_tried", record_text_or_null(f->not_tried.text), "rows", rows, "suspects", suspects,
                     "figures", figures, "faults", faults, "ranks", ranks);
}

/* ---- the part of a round under way ---- */

static struct {
    FILE *to; /* NULL: no output */
    char path[PATH_MAX];
    long head_bytes;
} part;

static void fail(void) { check_fail(__FILE__, __LINE__, part.path, strerror(errno)); }

static void put_line(json_t *o)
{
    if (json_dumpf(o, part.to, JSON_COMPACT) != 0 || fputc('\n', part.to) == EOF || fflush(part.to) != 0)
        fail();
    json_decref(o);
}

void check_part_begin(const char *output, const json_t *head, const check_findings *f, const char *level)
{
    sentence why;
    if (!output[0]) return;
    snprintf(part.path, sizeof part.path, "%s.part", output);
    if (!record_may_write("output", part.path, &why)) check_fail(__FILE__, __LINE__, part.path, why.text);
    part.to = fopen(part.path, "we");
    if (!part.to) fail();
    json_t *o = json_deep_copy(head);
    json_object_set_new(o, "check_part", json_pack("{s:s, s:o}", "level", level, "ranks", ranks_json(f)));
    put_line(o);
    part.head_bytes = ftell(part.to);
}

void check_part_add(int rank, int round, const char *trial, const trial_report *t)
{
    if (!part.to) return;
    json_t *figures = json_array(), *faults = json_array();
    for (int i = 0; i < t->figures; i++) json_array_append_new(figures, figure_json(&t->figure[i]));
    if (t->faults > 0) json_array_append_new(faults, fault_json(&t->fault));
    put_line(json_pack("{s:i, s:i, s:s, s:o, s:o}", "rank", rank, "round", round, "trial", trial, "figures",
                       figures, "faults", faults));
}

void check_part_empty(void)
{
    if (!part.to) return;
    if (fseek(part.to, part.head_bytes, SEEK_SET) != 0 || ftruncate(fileno(part.to), part.head_bytes) != 0)
        fail();
}

void check_part_end(void)
{
    if (!part.to) return;
    (void)fclose(part.to);
    (void)unlink(part.path);
    part.to = NULL;
}
