#include "results/remark.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace rnnlab {
namespace {

struct RemarkOfSeveral {
  Remark first;
  std::vector<std::string> who;
  bool differ = false;  // in `after`
};

bool are_of_one_kind(const Remark& a, const Remark& b) {
  if (a.before != b.before || a.kind != b.kind) return false;
  return !a.kind.empty() || a.after == b.after;
}

// Two different remarks of one kind about the same one are both told.
bool can_share(const RemarkOfSeveral& shared, const Remark& remark) {
  if (!are_of_one_kind(shared.first, remark)) return false;
  return shared.first.after == remark.after || std::ranges::find(shared.who, remark.who) == shared.who.end();
}

// At least one, then as many as three that fit on a line beside what is said of them.
size_t num_named(const std::vector<std::string>& who) {
  constexpr size_t kMostNamed = 3, kLongest = 100;
  size_t length = who.front().size(), count = 1;
  while (count < who.size() && count < kMostNamed && length + who[count].size() <= kLongest)
    length += who[count++].size();
  return count;
}

std::string names_of(std::vector<std::string> who) {
  const size_t count = num_named(who);
  if (who.size() <= count + 1) return each_of(who);
  const size_t num_more = who.size() - count;
  who.resize(count);
  return fmt::format("{} and {} more", join(who, ", "), num_more);
}

}  // namespace

std::vector<Warning> merged(const std::vector<Remark>& remarks) {
  std::vector<RemarkOfSeveral> all;
  for (const Remark& remark : remarks) {
    const auto is_alike = [&](const RemarkOfSeveral& shared) { return can_share(shared, remark); };
    const auto found = std::ranges::find_if(all, is_alike);
    RemarkOfSeveral& shared =
        found == all.end() ? all.emplace_back(RemarkOfSeveral{.first = remark, .who = {}}) : *found;
    add_once(shared.who, remark.who);
    shared.differ = shared.differ || shared.first.after != remark.after;
  }
  std::vector<Warning> lines;
  for (const RemarkOfSeveral& shared : all)
    lines.emplace_back(shared.first.kind,
                       fmt::format("{}{}{}{}", shared.first.before, names_of(shared.who), shared.first.after,
                                   shared.differ ? " (in the first of them)" : ""));
  return lines;
}

}  // namespace rnnlab
