#include "check/check_record.h"

#include "output/record.h"

static json_t *row_json(const check_row *r)
{
    return json_pack("{s:s, s:b, s:i, s:o, s:o, s:i, s:i, s:o, s:o, s:o, s:b, s:s}", "like",
                     check_like_key(r->like), "alone", r->alone, "count", r->count, "median",
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

json_t *check_record_figure(const check_figure *g)
{
    return json_pack("{s:s, s:i, s:i, s:b, s:i, s:o, s:o}", "like", check_like_key(g->like), "a", g->a, "b",
                     g->b, "alone", g->alone, "round", g->round, "rate", record_number(g->rate), "noise",
                     record_number(g->noise));
}

json_t *check_record_fault(const check_fault *g)
{
    return json_pack("{s:s, s:i, s:i, s:i, s:o}", "like", check_like_key(g->like), "a", g->a, "b", g->b,
                     "round", g->round, "where", record_text(g->where.text));
}

static json_t *rank_json(const check_rank *r)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b, s:b}", "host", record_text(r->host),
                     "gpu", record_text_or_null(r->gpu), "uuid", record_text_or_null(r->uuid), "pci",
                     record_text_or_null(r->pci), "clock_mhz", record_number(r->clock_mhz), "power_w",
                     record_number(r->power_w), "temperature_c", record_number(r->temperature_c),
                     "held_by_power", r->held_by_power, "held_by_heat", r->held_by_heat, "ended", r->ended);
}

json_t *check_record_ranks(const check_findings *f)
{
    json_t *ranks = json_array();
    for (int i = 0; i < f->ranks; i++) json_array_append_new(ranks, rank_json(&f->rank[i]));
    return ranks;
}

json_t *check_record(const check_findings *f, const check_verdict *v, int round, const char *level)
{
    json_t *rows = json_array(), *suspects = json_array(), *figures = json_array(), *faults = json_array(),
           *ranks = check_record_ranks(f);
    for (int i = 0; i < v->rows; i++) json_array_append_new(rows, row_json(&v->row[i]));
    for (int i = 0; i < v->suspects; i++) json_array_append_new(suspects, suspect_json(&v->suspect[i]));
    for (int i = 0; i < f->figures; i++)
        if (f->figure[i].round == round) json_array_append_new(figures, check_record_figure(&f->figure[i]));
    for (int i = 0; i < f->faults; i++)
        if (f->fault[i].round == round) json_array_append_new(faults, check_record_fault(&f->fault[i]));
    return json_pack("{s:s, s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "level", level, "round", round,
                     "verdict", check_word_name(v->word), "why", record_text_or_null(f->why.text),
                     "not_tried", record_text_or_null(f->not_tried.text), "rows", rows, "suspects", suspects,
                     "figures", figures, "faults", faults, "ranks", ranks);
}
