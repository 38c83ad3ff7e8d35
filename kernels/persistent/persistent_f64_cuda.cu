/* Stars of f64 that stay in registers, and the constant memory that holds their weights. */
#include "persistent/persistent_unit_cuda.cuh"

template <int I> using instance = persistent_instance<double, persistent_star_f64, I>;
const persistent_unit persistent_cuda_f64 =
    persistent_unit_of<instance>(std::make_integer_sequence<int, (int)std::size(persistent_star_f64)>());
