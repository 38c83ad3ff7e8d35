#include "plan/plan.h"

#include <string.h>

#include "plan/plan_rules.h"

int plan_make(plan *p, const plan_question *q, sentence *why)
{
    sentence refused = { "" };
    memset(p, 0, sizeof *p);
    const int status = plan_lay_out(p, q, why);
    if (status != 0) return status;
    plan_choose_transports(p, q);
    plan_choose_streams(p, q);
    plan_choose_block(p, q);
    const bool halos = config_kind_of(q->cfg)->stencil && q->facts->ranks > 1;
    if (halos && q->trial && q->trial->halos && !q->trial->halos(q->trial->context, p, &refused))
        plan_refuse_halos(p, q, &refused);
    plan_choose_form(p, q);
    plan_choose_graphs(p, q);
    return 0;
}
