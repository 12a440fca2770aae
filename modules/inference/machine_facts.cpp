#include "inference/machine_facts.h"

#include "base/folder.h"
#include "base/text.h"
#include "results/machine.h"

namespace rnnlab {

MachineFacts machine_facts(const std::filesystem::path& source, const std::vector<std::string>& command_line) {
  std::vector<std::string> words;
  for (const std::string& word : command_line) words.push_back(shell_quoted(word));
  return {{"host", host_info().hostname}, {"command_line", join(words, " ")}, {"source", whole_path(source).string()}};
}

MachineFacts machine_facts(const TrainedModel& trained, const std::vector<std::string>& command_line) {
  MachineFacts facts = machine_facts(trained.checkpoint, command_line);
  const DataSettings& data = trained.experiment.data;
  const std::filesystem::path path = std::filesystem::path(data.path) / data.train_inputs;
  if (!path.empty()) facts.emplace_back("data", whole_path(path).string());
  return facts;
}

}  // namespace rnnlab
