#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "config/read_context.h"
#include "config/schema.h"

namespace rnnlab::config {

bool ReadContext::is_wrong(const std::string& key) const {
  return std::any_of(wrong_keys_.begin(), wrong_keys_.end(), [&](const std::string& wrong) {
    return key == wrong || is_key_below(key, wrong) || is_key_below(wrong, key);
  });
}

Checker::Checker(ReadContext& context, const StructSpec& spec, std::string prefix)
    : context_(context), spec_(spec), prefix_(std::move(prefix)) {}

// The finding stands at the first key that is set; the others carry their places with them.
void Checker::complain(const std::vector<std::string>& keys, const std::string& message) {
  RNNLAB_INVARIANT(!keys.empty(), "a rule must name the keys that it is about");
  const Document& document = context_.document();
  std::optional<Place> head;
  std::vector<std::string> names;
  for (const std::string& key : keys) {
    RNNLAB_INVARIANT(spec_.find_path(key), fmt::format("a rule names the key '{}', which is in no field list", key));
    const std::string full_key = prefix_ + key;
    if (context_.is_wrong(full_key)) return;
    const Member* member = find_path(document.root(), full_key);
    if (!member)
      names.push_back(full_key + " (default)");
    else if (head)
      names.push_back(fmt::format("{} ({})", full_key, to_string(member->value.place)));
    else
      names.push_back(full_key);
    if (member && !head) head = member->value.place;
  }
  context_.findings().add(head.value_or(Place{.source = document.source()}),
                          fmt::format("{}: {}", each_of(names), message));
}

}  // namespace rnnlab::config
