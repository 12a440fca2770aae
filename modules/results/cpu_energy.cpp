#include "results/cpu_energy.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <string>

#include "base/folder.h"
#include "base/text.h"

namespace rnnlab {
namespace {

namespace fs = std::filesystem;

int64_t number_in(const char* begin, const char* end) {
  int64_t number = 0;
  std::from_chars(begin, end, number);
  return number;
}

std::optional<int64_t> read_number(const FileDescriptor& file) {
  std::array<char, 32> text;
  const ssize_t size = uninterrupted([&] { return ::pread(file.number(), text.data(), text.size(), 0); });
  if (size <= 0) return std::nullopt;
  return number_in(text.data(), text.data() + size);
}

}  // namespace

// Of the parts of a package, "intel-rapl:0:1", the package counts already; "psys" counts the packages again.
CpuEnergy::CpuEnergy(const fs::path& root) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root / "sys/class/powercap", error)) {
    if (!first_line(system_text(entry.path() / "name")).starts_with("package")) continue;
    const std::string range = first_line(system_text(entry.path() / "max_energy_range_uj"));
    packages_.push_back({.counter = FileDescriptor(::open((entry.path() / "energy_uj").c_str(), O_RDONLY | O_CLOEXEC)),
                         .range = number_in(range.data(), range.data() + range.size())});
  }
}

void CpuEnergy::start() {
  for (Package& package : packages_) package.start = read_number(package.counter);
}

std::optional<double> CpuEnergy::joules() const {
  constexpr double kJoulesPerMicrojoule = 1e-6;
  int64_t sum = 0;
  for (const Package& package : packages_) {
    const auto now = read_number(package.counter);
    if (!now || !package.start) return std::nullopt;
    sum += *now - *package.start + (*now < *package.start ? package.range : 0);
  }
  if (packages_.empty()) return std::nullopt;
  return kJoulesPerMicrojoule * static_cast<double>(sum);
}

}  // namespace rnnlab
