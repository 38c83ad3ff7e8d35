/* The plan as people and records read it: names, notes, and a reason for each choice. */
#include <stdarg.h>
#include <stdio.h>

#include "base/terminal.h"
#include "output/record.h"
#include "plan/plan.h"
#include "ranks/printable.h"

/* The names that records use. */
static const char *const choice_name[PLAN_CHOICES] = {
    [PLAN_MEMORY] = "memory",
    [PLAN_GRID] = "process_grid",
    [PLAN_BLOCK] = "steps_per_pass",
    [PLAN_TRANSPORT] = "transport",
    [PLAN_REDISTRIBUTION] = "transposes",
    [PLAN_FORM] = "form_of_a_step",
    [PLAN_FEED] = "feed",
    [PLAN_STREAMS] = "lanes",
    [PLAN_VARIANT] = "kernel_variant",
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

const char *plan_chosen(const plan *p, plan_choice choice)
{
    static char number[32];
    const decomp *d = &p->grid.dec;
    switch (choice) {
    case PLAN_MEMORY: return p->in_host_memory ? "host" : "device";
    case PLAN_GRID: snprintf(number, sizeof number, "%d x %d", d->ranks_x, d->ranks_y); break;
    case PLAN_BLOCK: snprintf(number, sizeof number, "%d", p->block_steps); break;
    case PLAN_TRANSPORT: return transport_kind_name(p->transport);
    case PLAN_REDISTRIBUTION: return transport_kind_name(p->redist_transport);
    case PLAN_FORM: return step_form_name[p->form];
    case PLAN_FEED: return config_feed_name(p->feed);
    case PLAN_STREAMS: snprintf(number, sizeof number, "%d", p->streams); break;
    case PLAN_VARIANT: return p->variant_name;
    case PLAN_CHOICES: break;
    }
    return number;
}

void plan_list(FILE *to, const plan *p)
{
    const char *before = "";
    for (plan_choice i = 0; i < PLAN_CHOICES; i++) {
        if (p->because[i].text[0] == '\0') continue;
        fprintf(to, "%s%s %s", before, choice_name[i], plan_chosen(p, i));
        before = ", ";
    }
    fprintf(to, "%s\n", p->persistent ? ", on cells that stay in registers" : "");
}

void plan_explain(const plan *p, const char *before)
{
    enum { WIDTH = 16 };
    for (plan_choice i = 0; i < PLAN_CHOICES; i++)
        if (p->because[i].text[0])
            terminal_say(stdout, WIDTH, "%s%-*s%s: %s", before, WIDTH, choice_name[i], plan_chosen(p, i),
                         p->because[i].text);
}

json_t *plan_links_json(const plan *p)
{
    json_t *used = json_object();
    for (transport_kind t = 0; t < TRANSPORT_KINDS; t++)
        if (p->exchange.used[t] > 0)
            json_object_set_new(used, transport_kind_name(t), json_integer(p->exchange.used[t]));
    return used;
}

json_t *plan_add_json(json_t *o, const plan *p, const config *c)
{
    const decomp *d = &p->grid.dec;
    json_t *const choices = json_object(), *const notes = json_array();
    for (plan_choice i = 0; i < PLAN_CHOICES; i++)
        if (p->because[i].text[0])
            json_object_set_new(choices, choice_name[i],
                                json_pack("{s:s, s:o}", "chosen", plan_chosen(p, i), "because",
                                          record_text(p->because[i].text)));
    for (int i = 0; i < p->notes; i++) json_array_append_new(notes, record_text(p->note[i].said.text));
    const record_member all[] = {
        { "grid", json_pack("{s:I, s:I}", "nx", (json_int_t)c->grid.nx, "ny", (json_int_t)c->grid.ny) },
        { "ranks", json_integer(d->ranks_x * d->ranks_y) },
        { "ranks_x", json_integer(d->ranks_x) },
        { "ranks_y", json_integer(d->ranks_y) },
        { "step_form", json_string(step_form_name[p->form]) },
        { "feed", json_string(config_feed_name(p->feed)) },
        { "lanes", json_integer(p->streams) },
        { "fuse", json_integer(p->block_steps) },
        { "norm_every", json_integer((json_int_t)c->time.norm_every) },
        { "plan", choices },
        { "notes", notes },
    };
    return record_add(o, all, sizeof all / sizeof *all);
}
