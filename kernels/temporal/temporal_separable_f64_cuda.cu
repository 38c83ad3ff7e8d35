/* Temporal blocking of f64 boxes whose weights are factors, and the constant memory that holds these: only
 * one of the two units is bound at a time. */
#include "temporal/temporal_unit_cuda.cuh"

template <int I>
using one = temporal_strips_instance<STENCIL_SEPARABLE, false, double, temporal_separable_f64, I>;
template <int I>
using two = temporal_strips_instance<STENCIL_SEPARABLE_SUM, false, double, temporal_separable_sum_f64, I>;
const temporal_unit temporal_cuda_separable_f64 = temporal_unit_of<one>(temporal_all<temporal_separable_f64>);
const temporal_unit temporal_cuda_separable_sum_f64 =
    temporal_unit_of<two>(temporal_all<temporal_separable_sum_f64>);
