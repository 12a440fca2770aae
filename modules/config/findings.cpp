#include "config/findings.h"

#include <fmt/format.h>

#include <tuple>

#include "base/error.h"
#include "base/text.h"

namespace rnnlab::config {

std::string to_string(const Place& place) {
  if (place.line == 0) return place.source;
  return fmt::format("{}:{}:{}", place.source, place.line, place.column);
}

bool Findings::Finding::operator<(const Finding& other) const {
  const auto rank = [](const Finding& f) {
    return std::tie(f.place.argument, f.place.line, f.place.column, f.place.source, f.message);
  };
  return rank(*this) < rank(other);
}

void Findings::add(const Place& place, const std::string& message) { findings_.insert({place, message}); }

std::vector<std::string> Findings::lines() const {
  std::vector<std::string> lines;
  for (const Finding& finding : findings_)
    lines.push_back(on_one_line(to_string(finding.place) + ": " + finding.message));
  return lines;
}

void Findings::throw_if_any() const {
  if (empty()) return;
  constexpr size_t kMaxShown = 100;
  std::vector<std::string> shown = lines();
  if (shown.size() > kMaxShown) {
    const size_t num_left_out = shown.size() - kMaxShown;
    shown.resize(kMaxShown);
    shown.push_back(fmt::format("and {} more", num_left_out));
  }
  throw UserError(ExitCode::kUsage, join(shown, "\n"));
}

}  // namespace rnnlab::config
