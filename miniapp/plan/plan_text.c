/* The plan as people read it: names, notes, and a reason for each choice. */
#include <stdarg.h>
#include <stdio.h>

#include "base/terminal.h"
#include "plan/plan.h"
#include "ranks/printable.h"

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

const char *plan_chosen(char out[PLAN_CHOSEN_BYTES], const plan *p, plan_choice choice)
{
    const decomp *d = &p->grid.dec;
    switch (choice) {
    case PLAN_MEMORY: return p->in_host_memory ? "host" : "device";
    case PLAN_GRID: snprintf(out, PLAN_CHOSEN_BYTES, "%d x %d", d->ranks_x, d->ranks_y); return out;
    case PLAN_BLOCK: snprintf(out, PLAN_CHOSEN_BYTES, "%d", p->block_steps); return out;
    case PLAN_TRANSPORT: return transport_kind_name(p->transport);
    case PLAN_REDISTRIBUTION: return transport_kind_name(p->redist_transport);
    case PLAN_FORM: return step_form_name[p->form];
    case PLAN_FEED: return config_feed_name(p->feed);
    case PLAN_STREAMS: snprintf(out, PLAN_CHOSEN_BYTES, "%d", p->streams); return out;
    case PLAN_VARIANT: return p->variant_name;
    case PLAN_CHOICES: break;
    }
    return "";
}

void plan_explain(FILE *to, const plan *p, const char *before)
{
    enum { WIDTH = 16 };
    char text[SENTENCE_BYTES + 256], chosen[PLAN_CHOSEN_BYTES];
    for (plan_choice i = 0; i < PLAN_CHOICES; i++) {
        if (p->because[i].text[0] == '\0') continue;
        snprintf(text, sizeof text, "%s%-*s%s: %s", before, WIDTH, plan_choice_name[i],
                 plan_chosen(chosen, p, i), p->because[i].text);
        terminal_wrap(to, text, WIDTH);
    }
}
