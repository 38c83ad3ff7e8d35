/* Stands in for the judgement, the page, the record, the reference and the report until each of them is here: then goes. */
#include <string.h>

#include "check/check_record.h"
#include "check/page.h"
#include "check/report_html.h"

#define WEAK __attribute__((weak))

WEAK void check_judge(const check_findings *f, const check_reference *reference, check_verdict *v)
{
    memset(v, 0, sizeof *v);
    v->word = f->incomplete ? CHECK_INCOMPLETE : f->faults > 0 ? CHECK_WRONG : CHECK_DELIVERS;
}
WEAK void check_verdict_destroy(check_verdict *v) {}
WEAK int check_exit_status(check_word w) { return w == CHECK_INCOMPLETE ? 3 : w != CHECK_DELIVERS; }
WEAK const char *check_word_name(check_word w)
{
    static const char *const names[] = { "delivers", "slow", "wrong", "incomplete" };
    return names[w];
}

WEAK void check_page_print(FILE *to, const check_findings *f, const check_verdict *v, const check_reference *reference)
{
    fprintf(to, "verdict  %s%s%s\n", check_word_name(v->word), f->why.text[0] ? ": " : "", f->why.text);
}

WEAK json_t *check_record(const check_findings *f, const check_verdict *v, int round, const char *level)
{
    json_t *figures = json_array(), *faults = json_array();
    for (int i = 0; i < f->figures; i++) {
        const check_figure *g = &f->figure[i];
        if (g->round == round)
            json_array_append_new(figures, json_pack("{s:s, s:i, s:i, s:b, s:i, s:f, s:f}", "like", check_like_key(g->like), "a", g->a, "b",
                                                     g->b, "alone", g->alone, "round", g->round, "rate", g->rate, "noise", g->noise));
    }
    for (int i = 0; i < f->faults; i++)
        json_array_append_new(faults, json_pack("{s:s, s:i, s:i, s:i, s:s}", "like", check_like_key(f->fault[i].like), "a", f->fault[i].a,
                                                "b", f->fault[i].b, "round", f->fault[i].round, "where", f->fault[i].where.text));
    return json_pack("{s:s, s:i, s:s, s:s*, s:o, s:o}", "level", level, "round", round, "verdict", check_word_name(v->word), "why",
                     f->why.text[0] ? f->why.text : NULL, "figures", figures, "faults", faults);
}

WEAK bool check_reference_find(const check_findings *f, const char *asked, check_reference *out, sentence *note) { return true; }
WEAK bool check_reference_save(const char *path, const check_findings *f, sentence *why) { return true; }
WEAK bool check_report_write(const char *path, const json_t *records, sentence *why) { return true; }
