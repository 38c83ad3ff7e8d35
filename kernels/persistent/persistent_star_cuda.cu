/* Stars that stay in registers, and the constant memory that holds their weights. */
#include "persistent/persistent_unit_cuda.cuh"

template <int I> using f32 = persistent_instance<float, persistent_star_f32, I>;
template <int I> using f64 = persistent_instance<double, persistent_star_f64, I>;
const persistent_unit persistent_cuda_f32 = persistent_unit_of<f32>(temporal_all<persistent_star_f32>);
const persistent_unit persistent_cuda_f64 = persistent_unit_of<f64>(temporal_all<persistent_star_f64>);
