#include "check/check_rung.h"

#include "bench/bench_families.h"

static bool find(const check *c, const char *name, bench_item *item)
{
    for (const ladder_family *const *f = bench_families(); *f; f++)
        for (int r = 0; (*f)->kind == c->d->kind && r < (*f)->rungs; r++)
            if (bench_request_names(name, *f, &(*f)->rung[r])) {
                *item = (bench_item){ *f, &(*f)->rung[r], true };
                return true;
            }
    return false;
}

bool check_rung_measure(check *c, const char *name, dtype type, bench_setting *setting, int settings,
                        bench_point *p)
{
    bench_item item;
    sentence why = { "" };
    c->rungs.type = type;
    c->rungs.setting = setting;
    c->rungs.settings = settings;
    const bool found = find(c, name, &item) && !(item.rung->missing && item.rung->missing(c->d)) &&
                       bench_measure(&c->bench, &item, 0, p, &why) && !p->missing.text[0];
    c->rungs.setting = NULL;
    c->rungs.settings = 0;
    return found;
}
