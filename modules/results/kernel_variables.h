// The variables of the environment that the libraries which do the work read: they may pick other kernels, other
// threads or another allocator. Only variables with the names of these libraries are looked at, and paths in values are
// cut to their last names.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace rnnlab {

using Variables = std::map<std::string, std::string>;

// Of this process, or of `environment`: "NAME=VALUE" texts, ending in a null pointer.
Variables kernel_variables();
Variables kernel_variables(const char* const* environment);

// Whether times with another value are not comparable. Those that pick a device, say how many threads there are, which
// is compared by its effect, or only describe an installation do not count.
bool changes_kernels(std::string_view name);

// Those that change kernels, where two sets differ: "MKL_CBWR=AVX2, no OMP_PROC_BIND" of the first; "" where none does.
std::string differing_variables(const Variables& of, const Variables& beside);
// The same of those that do not change kernels.
std::string differing_notes(const Variables& of, const Variables& beside);

// "MKL_CBWR=AVX2, OMP_PROC_BIND=true": those that change kernels.
std::string variables_text(const Variables& variables);

}  // namespace rnnlab
