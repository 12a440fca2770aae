#include "results/warning.h"

#include <algorithm>
#include <utility>

#include "results/json_fields.h"

namespace rnnlab {
namespace {

// A part of the sentence that is in no sentence of another kind.
constexpr std::pair<std::string_view, const char*> kOldWords[] = {
    {"THIS BUILD IS NOT FOR TIMING", warning::kSlowBuild},
    {"MORE THREADS THAN CPUS", warning::kMoreThreadsThanCpus},
    {"THE CPU IS BUSY", warning::kCpuBusy},
    {"THE CPU WAS SHARED", warning::kCpuShared},
    {" IS SHARED: ", warning::kGpuShared},
    {" WAS SHARED: ", warning::kGpuShared},
    {" IS BUSY: ", warning::kGpuBusy},
    {" THROTTLED: ", warning::kGpuThrottled},
    {"checkpoint.every_steps: ", warning::kCopiesInEpochs},
    {"traced (--trace)", warning::kTraced},
    {"goes on with another ", warning::kOtherMachine},
    {"training.schedule cosine ends with the run", warning::kScheduleChanged},
    {"a newer checkpoint is not usable", warning::kCheckpointUnusable},
    {"which checkpoint was the best is forgotten", warning::kBestForgotten},
};

}  // namespace

std::vector<std::string> texts_of(const std::vector<Warning>& warnings) {
  std::vector<std::string> texts;
  for (const Warning& warning : warnings) texts.push_back(warning.text);
  return texts;
}

void add_once(std::vector<Warning>& warnings, const Warning& warning) {
  if (std::ranges::find(warnings, warning) == warnings.end()) warnings.push_back(warning);
}

std::string kind_of_old_warning(std::string_view text) {
  for (const auto& [words, kind] : kOldWords)
    if (text.find(words) != std::string_view::npos) return kind;
  return warning::kOther;
}

void from_json(const JsonPlace& place, Warning& warning) {
  constexpr int64_t kFirstWithKinds = 3;
  if (place.version >= kFirstWithKinds) return from_json<Warning>(place, warning);
  from_json(place, warning.text);
  warning.kind = kind_of_old_warning(warning.text);
}

}  // namespace rnnlab
