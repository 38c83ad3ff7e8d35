/* Stars of f32 that stay in registers, and the constant memory that holds their weights. */
#include "persistent/persistent_unit_cuda.cuh"

template <int I> using instance = persistent_instance<float, persistent_star_f32, I>;
const persistent_unit persistent_cuda_f32 =
    persistent_unit_of<instance>(std::make_integer_sequence<int, (int)std::size(persistent_star_f32)>());
