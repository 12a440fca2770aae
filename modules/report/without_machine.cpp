#include "report/without_machine.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <type_traits>
#include <vector>

#include "base/text.h"
#include "results/config_values.h"
#include "results/json_fields.h"
#include "results/run_folder.h"

namespace rnnlab::report {
namespace {

// Gives names to paths, the same to the same and no name to two of them.
class Names {
 public:
  std::string name(const std::string& original, const std::string& wanted) {
    const auto known = given_.find(original);
    if (known != given_.end()) return known->second;
    std::string free = wanted;
    for (int number = 2; !taken_.insert(free).second; ++number) free = fmt::format("{} ({})", wanted, number);
    return given_.emplace(original, free).first->second;
  }

 private:
  std::map<std::string, std::string> given_;
  std::set<std::string> taken_;
};

// ---- every text in a record ----

template <class T>
requires std::is_arithmetic_v<T> || std::is_enum_v<T>
void clean(T&) {}
void clean(std::string& text) { text = without_folders(text); }
template <class T>
void clean(std::vector<T>& values);
template <class T>
void clean(std::optional<T>& value);
template <class T>
void clean(std::map<std::string, T>& values);
template <HasFields T>
void clean(T& record);

template <class T>
void clean(std::vector<T>& values) {
  for (T& value : values) clean(value);
}

template <class T>
void clean(std::optional<T>& value) {
  if (value) clean(*value);
}

// The keys are names of settings and columns.
template <class T>
void clean(std::map<std::string, T>& values) {
  for (auto& [key, value] : values) clean(value);
}

template <HasFields T>
void clean(T& record) {
  T::visit(record, [](const char*, auto& member, int64_t = 0) { clean(member); });
}

void forget_machine(Environment& environment) {
  environment.command_line.clear();
  environment.host.hostname.clear();
  environment.host.kernel.clear();
  clean(environment);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  if (from.empty()) return text;
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

}  // namespace

Sources without_machine(Sources sources) {
  Names folders, files;
  std::map<std::string, Names> settings;  // by key
  for (RunRecord& run : sources.runs) {
    forget_machine(run.environment);
    clean(run.summary);
    run.summary.identity.conditions.kernel.clear();
    run.folder = folders.name(run.folder.string(), shared_run_name(run.folder, run.summary.name));
    for (auto& [key, value] : run.config) value = settings[key].name(value, setting_without_folders(value));
  }
  for (Benchmark& benchmark : sources.benchmarks) {
    benchmark.file = files.name(benchmark.file, last_name(benchmark.file));
    forget_machine(benchmark.report.environment);
    clean(benchmark.report);
  }
  for (LeftOut& one : sources.left_out)
    one.reason = without_folders(replaced(one.reason, one.source, last_name(one.source)));
  return sources;
}

}  // namespace rnnlab::report
