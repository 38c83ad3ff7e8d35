/* JSON of a check: the record of a round, the part of one that is under way, and references. */
#include "check/trial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "output/record.h"
#include "ranks/check.h"

static json_t *row_json(const check_row *r)
{
    return json_pack("{s:s, s:i, s:o, s:o, s:i, s:i, s:o, s:o, s:o, s:b, s:s}", "like",
                     check_likes[r->like].key, "count", r->count, "median", record_number(r->median), "least",
                     record_number(r->least), "least_a", r->least_a, "least_b", r->least_b, "noise",
                     record_number(r->noise), "smallest", record_number(r->smallest), "reference",
                     record_number(r->reference), "judged", r->is_judged, "verdict",
                     check_word_name[r->verdict]);
}

static json_t *suspect_json(const check_suspect *s)
{
    return json_pack("{s:s, s:i, s:i, s:o, s:o, s:o, s:o}", "part", check_part_keys[s->part], "a", s->a, "b",
                     s->b, "name", record_text(s->name.text), "factor", record_number(s->factor),
                     "confidence", record_number(s->confidence), "evidence", record_text(s->evidence.text));
}

/* Those that have no rate go to `faults`. */
static void add_figure(const check_figure *g, const char *wrong, json_t *figures, json_t *faults)
{
    const char *const like = check_likes[g->like].key;
    if (isnan(g->rate))
        json_array_append_new(faults, json_pack("{s:s, s:i, s:i, s:i, s:o}", "like", like, "a", g->a, "b",
                                                g->b, "round", g->round, "where", record_text(wrong)));
    else
        json_array_append_new(figures,
                              json_pack("{s:s, s:i, s:i, s:b, s:i, s:o, s:o}", "like", like, "a", g->a, "b",
                                        g->b, "alone", g->alone, "round", g->round, "rate",
                                        record_number(g->rate), "noise", record_number(g->noise)));
}

static json_t *ranks_json(const check_findings *f)
{
    json_t *ranks = json_array();
    for (const check_rank *r = f->rank; r < f->rank + f->ranks; r++)
        json_array_append_new(ranks,
                              json_pack("{s:o, s:o, s:o, s:o}", "host", record_text(r->host), "gpu",
                                        record_text_or_null(r->gpu), "uuid", record_text_or_null(r->uuid),
                                        "pci", record_text_or_null(r->pci)));
    return ranks;
}

json_t *check_record(const check *c, const check_verdict *v)
{
    const check_findings *f = &c->found;
    json_t *rows = json_array(), *suspects = json_array(), *figures = json_array(), *faults = json_array();
    for (const check_row *r = v->row; r < v->row + CHECK_LIKES; r++)
        if (check_row_is_there(r)) json_array_append_new(rows, row_json(r));
    if (v->suspect.name.text[0]) json_array_append_new(suspects, suspect_json(&v->suspect));
    for (const check_figure *g = f->figure; g < f->figure + f->figures; g++)
        if (g->round == c->round) add_figure(g, g->wrong, figures, faults);
    return json_pack("{s:s, s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "level",
                     check_level_words[c->ask->level], "round", c->round, "verdict", check_word_name[v->word],
                     "why", record_text_or_null(f->why.text), "not_tried",
                     record_text_or_null(f->not_tried.text), "rows", rows, "suspects", suspects, "figures",
                     figures, "faults", faults, "ranks", ranks_json(f), "now_s", record_number(c->now_s));
}

/* ---- the part of a round under way ---- */

static void put_line(const check *c, json_t *o)
{
    sentence why;
    if (c->ask->output[0] && !record_append(c->part, o, &why))
        check_fail(__FILE__, __LINE__, c->part, why.text);
    json_decref(o);
}

void check_part_begin(const check *c, const json_t *head)
{
    json_t *o = json_deep_copy(head);
    json_object_set_new(
        o, "check_part",
        json_pack("{s:s, s:o}", "level", check_level_words[c->ask->level], "ranks", ranks_json(&c->found)));
    check_part_end(c);
    put_line(c, o);
}

void check_part_add(const check *c, const trial_report *t)
{
    json_t *figures = json_array(), *faults = json_array();
    for (int i = 0; i < t->figures; i++) add_figure(&t->figure[i], t->wrong.text, figures, faults);
    put_line(c, json_pack("{s:i, s:i, s:s, s:i, s:o, s:o}", "rank", t->rank, "round", c->round, "trial",
                          c->trial, "item", c->item, "figures", figures, "faults", faults));
}

void check_part_end(const check *c)
{
    if (c->ask->output[0]) (void)unlink(c->part);
}
