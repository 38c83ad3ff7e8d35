/* What the choice of a transport was made from: for people, and for the record. */
#include <math.h>
#include <stdio.h>

#include "output/record.h"
#include "report/report.h"

json_t *report_transports_json(const sim *s)
{
    const plan_exchange *e = &s->plan.exchange;
    json_t *used = json_object(), *candidates = json_array();
    for (transport_kind t = 0; t < TRANSPORT_KINDS && e->tried; t++) {
        const char *why = plan_exchange_left_out(e, t);
        if (e->used[t] > 0) json_object_set_new(used, transport_kind_name(t), json_integer(e->used[t]));
        json_array_append_new(candidates,
                              json_pack("{s:s, s:o, s:o, s:o}", "transport", transport_kind_name(t), "inside_host_s",
                                        record_number(e->slowest_s[t][LINK_INSIDE_HOST]), "between_hosts_s",
                                        record_number(e->slowest_s[t][LINK_BETWEEN_HOSTS]), "left_out",
                                        record_text_or_null(why)));
    }
    return json_pack("{s:o, s:o, s:o}", "links", used, "candidates", candidates, "seconds",
                     record_number(e->tried ? s->created.transports_s : NAN));
}

static void print_trial(FILE *to, const plan_exchange *e, transport_kind t, bool *first)
{
    for (link_kind kind = 0; kind < LINK_KINDS; kind++) {
        if (!isfinite(e->slowest_s[t][kind])) continue;
        fprintf(to, "%s%s %.3g us%s%s", *first ? "" : ", ", transport_kind_name(t), e->slowest_s[t][kind] * 1e6,
                e->links[!kind] > 0 ? " " : "", e->links[!kind] > 0 ? link_kind_name[kind] : "");
        *first = false;
    }
}

void report_print_transports(FILE *to, const sim *s)
{
    const plan_exchange *e = &s->plan.exchange;
    bool first = true;
    if (!e->tried) return;
    fprintf(to, "exchange     ");
    for (transport_kind t = 0; t < TRANSPORT_KINDS; t++) print_trial(to, e, t, &first);
    fprintf(to, "%s; tried in %.2f s\n", first ? "none passed its trial" : " alone", s->created.transports_s);
    for (transport_kind t = 0; t < TRANSPORT_KINDS; t++) {
        const char *why = plan_exchange_left_out(e, t);
        if (why && (e->asked[t] || e->why[t][LINK_INSIDE_HOST].text[0]))
            fprintf(to, "             not %s: %s\n", transport_kind_name(t), why);
    }
}
