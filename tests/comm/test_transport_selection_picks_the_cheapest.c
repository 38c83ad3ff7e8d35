/* From made-up times: a link takes the cheapest transport that passed, peer's time counted half, and leaves the favourite
 * of its kind only for one that is cheaper by more than a tenth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "exchange/transport_selection.h"

static const double none = INFINITY;

static void the_cheapest_of_those_that_passed(void **state)
{
    static const struct {
        double seconds[TRANSPORT_KINDS]; /* staged, aware, mapped, peer, copy, nccl */
        transport_kind best;
    } cases[] = {
        { { 80e-6, 20e-6, 40e-6, 6e-6, INFINITY, 14e-6 }, TRANSPORT_PEER },
        { { 80e-6, 20e-6, 40e-6, INFINITY, INFINITY, 14e-6 }, TRANSPORT_NCCL },
        { { 80e-6, 20e-6, 40e-6, INFINITY, INFINITY, INFINITY }, TRANSPORT_AWARE },
        { { 80e-6, INFINITY, 40e-6, INFINITY, INFINITY, INFINITY }, TRANSPORT_MAPPED },
        { { 80e-6, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY }, TRANSPORT_STAGED },
        { { 30e-6, INFINITY, 40e-6, INFINITY, INFINITY, INFINITY }, TRANSPORT_STAGED },
        { { 80e-6, 20e-6, INFINITY, 39e-6, INFINITY, INFINITY }, TRANSPORT_PEER }, /* counts as 19.5 */
        { { 80e-6, 20e-6, INFINITY, 41e-6, INFINITY, INFINITY }, TRANSPORT_AWARE },
        { { 80e-6, 20e-6, INFINITY, 2.2e-3, INFINITY, INFINITY }, TRANSPORT_AWARE }, /* ranks that take turns on one GPU */
        { { INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY }, TRANSPORT_STAGED },
        { { INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, 1 }, TRANSPORT_NCCL },
        { { 1e-6, 1e-6, 1e-6, 2e-6, INFINITY, 1e-6 }, TRANSPORT_STAGED }, /* equal: the one that works everywhere */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(transport_selection_cheapest(cases[i].seconds), cases[i].best);
}

static void a_favourite_is_left_for_more_than_a_tenth(void **state)
{
    const double near[TRANSPORT_KINDS] = { 80e-6, 20e-6, 18.2e-6, none, none, none };
    const double far[TRANSPORT_KINDS] = { 80e-6, 20e-6, 17.8e-6, none, none, none };
    const double lost[TRANSPORT_KINDS] = { 80e-6, none, 90e-6, none, none, none };
    (void)state;
    assert_int_equal(transport_selection_pick(near, TRANSPORT_AWARE), TRANSPORT_AWARE);
    assert_int_equal(transport_selection_pick(far, TRANSPORT_AWARE), TRANSPORT_MAPPED);
    assert_int_equal(transport_selection_pick(lost, TRANSPORT_AWARE), TRANSPORT_STAGED);
    assert_int_equal(transport_selection_pick(lost, TRANSPORT_STAGED), TRANSPORT_STAGED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cheapest_of_those_that_passed),
        cmocka_unit_test(a_favourite_is_left_for_more_than_a_tenth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
