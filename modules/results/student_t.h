// Student's t distribution, for intervals of a mean.
#pragma once

namespace rnnlab {

// The value that a t variable of so many degrees of freedom (above 0, not only whole ones) lies below with probability
// q, 0 < q < 1.
double student_t_quantile(double q, double degrees_of_freedom);

}  // namespace rnnlab
