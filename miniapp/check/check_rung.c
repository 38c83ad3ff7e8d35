#include "check/check_rung.h"

bool check_rung_measure(check *c, const char *name, dtype type, bench_setting *setting, int settings,
                        bench_point *p)
{
    bench_item item;
    sentence why = { "" };
    c->rungs.type = type;
    c->rungs.setting = setting;
    c->rungs.settings = settings;
    const bool found = bench_request_find(c->d->kind, name, &item) &&
                       !(item.rung->missing && item.rung->missing(c->d)) &&
                       bench_measure(&c->bench, &item, 0, p, &why) && !p->missing.text[0];
    c->rungs.setting = NULL;
    c->rungs.settings = 0;
    return found;
}
