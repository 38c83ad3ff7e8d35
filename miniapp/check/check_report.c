/* The reports of a check: the terminal's page, the record of a round, the part of one that is under way. */
#include "check/check.h"

#include <math.h>
#include <unistd.h>

#include "base/terminal.h"
#include "files/figure.h"
#include "output/record.h"
#include "ranks/check.h"

/* ---- the page ---- */

static const char *plural(int n) { return n == 1 ? "" : "s"; }

static figure percent(double fraction, bool in_brackets)
{
    figure f = { "-" };
    if (isfinite(fraction))
        snprintf(f.text, sizeof f.text, in_brackets ? "(%.0f %%)" : "%.0f %%", 100 * fraction);
    return f;
}

static void put_row(FILE *to, const check_row *row)
{
    const char *unit = check_likes[row->like].unit;
    char who[48] = "";
    const char *const said = row->verdict == CHECK_DELIVERS ? "" : check_word_name[row->verdict];
    if (row->count > 1 && row->least_b < 0) snprintf(who, sizeof who, "rank %d", row->least_a);
    else if (row->count > 1)
        snprintf(who, sizeof who, row->like == CHECK_PAIR_ONEWAY ? "%d to %d" : "%d and %d", row->least_a,
                 row->least_b);
    fprintf(to, "%-22s %13s %13s %-13s %7s %5s %5s%s%s\n", check_likes[row->like].name,
            figure_rate(row->median, unit).text, row->count > 1 ? figure_rate(row->least, unit).text : "",
            who, percent(row->median / row->reference, !row->is_judged).text, percent(row->noise, false).text,
            percent(row->smallest < 1 ? row->smallest : NAN, false).text, *said ? " " : "", said);
}

void check_page_print(FILE *to, const check_findings *f, const check_verdict *v, const check_reference *r)
{
    const check_suspect *one = &v->suspect;
    sentence s;
    sentence_set(&s, "weft check: %s", check_word_name[v->word]);
    if (v->word == CHECK_INCOMPLETE) sentence_add(&s, ": %.180s", f->why.text);
    if (isnan(one->factor)) sentence_add(&s, ": %.180s gives wrong bits", one->name.text);
    else if (one->name.text[0])
        sentence_add(&s, ": %.180s delivers %.0f %%", one->name.text, 100 * one->factor);
    terminal_wrap(to, s.text, 4);
    sentence_set(&s, "%d rank%s on %d host%s, %s%.60s; %d round%s; sees: the smallest deviation that shows",
                 f->ranks, plural(f->ranks), f->hosts, plural(f->hosts),
                 f->device == DEVICE_HOST ? "host device, " : "", f->device_name, f->rounds,
                 plural(f->rounds));
    if (r->name[0]) sentence_add(&s, "; ref.: %.60s (in brackets: not judged)", r->name);
    terminal_wrap(to, s.text, 4);
    fprintf(to, "\n%-22s %13s %13s %-13s %7s %5s %5s\n", "", "median", "least", "of", "ref.", "noise",
            "sees");
    for (const check_row *row = v->row; row < v->row + CHECK_LIKES; row++)
        if (check_row_is_there(row)) put_row(to, row);
    if (one->name.text[0])
        terminal_say(to, 3, "\n%.120s: %s, confidence %.2f: %.1200s", one->name.text,
                     percent(one->factor, false).text, one->confidence, one->evidence.text);
    if (f->not_tried.text[0]) terminal_say(to, 3, "\nnot tried: %.380s", f->not_tried.text);
}

/* ---- the record of a round ---- */

const char *const check_level_words[] = { "quick", "full", "soak", NULL };

/* The figures of this round from that one on, or those of wrong bits. */
static json_t *figures_json(const check *c, int first, bool wrong)
{
    json_t *all = json_array();
    for (const check_figure *g = c->found.figure + first; g < c->found.figure + c->found.figures; g++) {
        if (g->round != c->round || wrong != (g->where != NULL)) continue;
        const char *const like = check_likes[g->like].key;
        json_array_append_new(
            all, wrong ? json_pack("{s:s, s:i, s:i, s:i, s:o}", "like", like, "a", g->a, "b", g->b, "round",
                                   g->round, "where", record_text(g->where))
                       : json_pack("{s:s, s:i, s:i, s:b, s:i, s:o, s:o}", "like", like, "a", g->a, "b", g->b,
                                   "alone", g->alone, "round", g->round, "rate", record_number(g->rate),
                                   "noise", record_number(g->noise)));
    }
    return all;
}

json_t *check_record(const check *c, const check_verdict *v)
{
    const check_findings *f = &c->found;
    const check_suspect *s = &v->suspect;
    json_t *rows = json_array(), *suspects = json_array();
    for (const check_row *r = v->row; r < v->row + CHECK_LIKES; r++)
        if (check_row_is_there(r))
            json_array_append_new(rows,
                                  json_pack("{s:s, s:i, s:o, s:o, s:i, s:i, s:o, s:o, s:o, s:b, s:s}", "like",
                                            check_likes[r->like].key, "count", r->count, "median",
                                            record_number(r->median), "least", record_number(r->least),
                                            "least_a", r->least_a, "least_b", r->least_b, "noise",
                                            record_number(r->noise), "smallest", record_number(r->smallest),
                                            "reference", record_number(r->reference), "judged", r->is_judged,
                                            "verdict", check_word_name[r->verdict]));
    if (s->name.text[0])
        json_array_append_new(
            suspects,
            json_pack("{s:s, s:i, s:i, s:o, s:o, s:o, s:o}", "part", check_part_keys[s->part], "a", s->a, "b",
                      s->b, "name", record_text(s->name.text), "factor", record_number(s->factor),
                      "confidence", record_number(s->confidence), "evidence", record_text(s->evidence.text)));
    return json_pack(
        "{s:s, s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:O, s:o}", "level", check_level_words[c->ask->level],
        "round", c->round, "verdict", check_word_name[v->word], "why", record_text_or_null(f->why.text),
        "not_tried", record_text_or_null(f->not_tried.text), "rows", rows, "suspects", suspects, "figures",
        figures_json(c, 0, false), "faults", figures_json(c, 0, true), "ranks", f->rank, "now_s",
        record_number(c->now_s));
}

/* ---- the part of a round under way ---- */

static void put_line(const check *c, json_t *o)
{
    sentence why;
    if (c->ask->output[0] && !record_append(c->ask->part, o, &why))
        check_fail(__FILE__, __LINE__, c->ask->part, why.text);
    json_decref(o);
}

void check_part_begin(const check *c, const json_t *head)
{
    json_t *o = json_deep_copy(head);
    json_object_set_new(
        o, "check_part",
        json_pack("{s:s, s:O}", "level", check_level_words[c->ask->level], "ranks", c->found.rank));
    check_part_end(c);
    put_line(c, o);
}

void check_part_add(const check *c, const trial_report *t)
{
    const int first = c->found.figures - t->figures;
    put_line(c, json_pack("{s:i, s:i, s:s, s:i, s:o, s:o}", "rank", t->rank, "round", c->round, "trial",
                          c->trial, "item", c->item, "figures", figures_json(c, first, false), "faults",
                          figures_json(c, first, true)));
}

void check_part_end(const check *c)
{
    if (c->ask->output[0]) (void)unlink(c->ask->part);
}
