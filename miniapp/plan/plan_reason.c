/* Notes and reasons, as the rules leave them and as people read them. */
#include <stdarg.h>
#include <stdio.h>

#include "base/terminal.h"
#include "plan/plan_rules.h"
#include "ranks/printable.h"
#include "ranks/trial.h"

const char *const link_kind_name[LINK_KINDS] = { "inside a host", "between hosts" };
const char *const plan_choice_name[PLAN_CHOICES] = {
    [PLAN_MEMORY] = "memory",
    [PLAN_GRID] = "process grid",
    [PLAN_BLOCK] = "steps per pass",
    [PLAN_TRANSPORT] = "transport",
    [PLAN_REDISTRIBUTION] = "transposes",
    [PLAN_FORM] = "form of a step",
    [PLAN_FEED] = "feed",
    [PLAN_STREAMS] = "lanes",
    [PLAN_VARIANT] = "kernel variant",
};

void plan_add_note(plan *p, bool asked, const char *format, ...)
{
    if (p->notes == PLAN_NOTES_MAX) return;
    plan_note *note = &p->note[p->notes++];
    sentence said;
    va_list ap;
    va_start(ap, format);
    note->asked = asked;
    sentence_set_list(&said, format, ap);
    va_end(ap);
    printable(note->said.text, sizeof note->said.text, said.text);
}

plan_reason *plan_chosen(plan *p, plan_choice choice, const char *format, ...)
{
    plan_reason *r = &p->reason[choice];
    va_list ap;
    va_start(ap, format);
    vsnprintf(r->chosen, sizeof r->chosen, format, ap);
    va_end(ap);
    return r;
}

void plan_because(plan_reason *r, const char *otherwise, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    sentence_set_list(&r->because, format, ap);
    va_end(ap);
    if (otherwise) sentence_set(&r->otherwise, "%s", otherwise);
}

void plan_say_close(plan_reason *r, const plan_way way[], int count, int chosen)
{
    const double chosen_s = way[chosen].cost_s;
    for (const plan_way *w = way; w < way + count; w++)
        if (w != &way[chosen] && w->cost_s < (1 + TRIAL_CLOSE) * chosen_s)
            sentence_add(&r->because, "; the choice is close: %s would be taken if %.1f %% faster", w->name,
                         100 * (1 - chosen_s / w->cost_s));
}

void plan_explain(FILE *to, const plan *p, const char *before)
{
    enum { WIDTH = 16 };
    char text[2 * SENTENCE_BYTES + 256];
    for (plan_choice i = 0; i < PLAN_CHOICES; i++) {
        const plan_reason *r = &p->reason[i];
        if (r->chosen[0] == '\0') continue;
        snprintf(text, sizeof text, "%s%-*s%s: %s%s%s", before, WIDTH, plan_choice_name[i], r->chosen,
                 r->because.text, r->otherwise.text[0] ? "; " : "", r->otherwise.text);
        terminal_wrap(to, text, WIDTH);
    }
}
