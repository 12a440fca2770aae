#include "checkpoint/names.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/numbers.h"

namespace rnnlab {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// What stands between `begin` and `end`, if `text` has both.
std::optional<std::string> between(const std::string& text, std::string_view begin, std::string_view end) {
  if (text.size() < begin.size() + end.size() || !text.starts_with(begin) || !text.ends_with(end)) return std::nullopt;
  return text.substr(begin.size(), text.size() - begin.size() - end.size());
}

}  // namespace

std::string step_folder_name(int64_t step) { return fmt::format("step-{:06}", step); }

std::optional<int64_t> step_of(const std::string& name) {
  const auto digits = between(name, "step-", "");
  if (!digits || !is_number(*digits)) return std::nullopt;
  const auto step = parse_int64(digits->substr(std::min(digits->find_first_not_of('0'), digits->size() - 1)));
  if (!step || step_folder_name(*step) != name) return std::nullopt;
  return step;
}

std::string temporary_name(int64_t step) { return fmt::format(".{}.tmp-{}", step_folder_name(step), ::getpid()); }

std::string removed_name(int64_t step) { return fmt::format(".{}.old-{}", step_folder_name(step), ::getpid()); }

bool is_leftover(const std::string& name) {
  if (const auto process = between(name, fmt::format(".{}.", kBestFile), ".tmp")) return is_number(*process);
  const size_t dash = name.rfind('-');
  if (!name.starts_with('.') || dash == std::string::npos || !is_number(name.substr(dash + 1))) return false;
  for (const char* kind : {".tmp", ".old"})
    if (const auto step = between(name.substr(0, dash), ".", kind)) return step_of(*step).has_value();
  return false;
}

}  // namespace rnnlab
