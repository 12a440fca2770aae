#include <fmt/format.h>

#include "base/numbers.h"
#include "base/text.h"
#include "bench/report_text.h"
#include "results/csv_line.h"

namespace rnnlab {
namespace {

// A name and a value for each column; the names are equal for all rows.
using CsvFields = std::vector<std::pair<std::string, std::string>>;

std::string csv_text(const std::string& value) { return value; }
std::string csv_text(int64_t value) { return std::to_string(value); }
std::string csv_text(double value) { return format_shortest(value); }
std::string csv_text(const std::optional<double>& value) { return value ? csv_text(*value) : ""; }
std::string csv_text(bool value) { return value ? "1" : "0"; }

// Every field of `value`, or as many empty ones, under "prefix_".
template <class T>
void add_fields(CsvFields& fields, const std::string& prefix, const std::optional<T>& value) {
  const T one = value.value_or(T{});
  T::visit(one, [&](const char* name, const auto& member, int64_t = 0) {
    fields.emplace_back(prefix + name, value ? csv_text(member) : "");
  });
}

void add_measurement(CsvFields& fields, const std::optional<Measurement>& measurement) {
  for (const Part& part : kParts) {
    const std::string name = std::string(part.name) + "_";
    add_fields(fields, name + "seconds_",
               measurement ? std::optional(measurement->seconds.*part.seconds) : std::optional<Estimate>());
    add_fields(fields, name, measurement ? measurement->rates.*part.rate : std::optional<PartRate>());
  }
  add_fields(fields, "speedup_forward_", measurement ? measurement->speedup_forward : std::optional<Estimate>());
  add_fields(fields, "speedup_total_", measurement ? measurement->speedup_total : std::optional<Estimate>());
  fields.emplace_back("num_samples", measurement ? std::to_string(measurement->samples.all.size()) : "");
  fields.emplace_back("num_processes", measurement ? std::to_string(by_process(*measurement).size()) : "");
  fields.emplace_back("wall_seconds", measurement ? csv_text(measurement->wall_seconds) : "");
  fields.emplace_back("cpu_seconds", measurement ? csv_text(measurement->cpu_seconds) : "");
}

std::string kernels_text(const std::vector<KernelUse>& kernels) {
  std::vector<std::string> parts;
  for (const KernelUse& kernel : kernels) parts.push_back(fmt::format("{} x{}", kernel.name, kernel.count));
  return join(parts, "; ");
}

CsvFields fields_of(const BenchRow& row) {
  CsvFields fields;
  add_fields(fields, "", std::optional(row.key));
  fields.emplace_back("reason", row.reason);
  add_measurement(fields, row.measurement);
  fields.emplace_back("peak_memory_bytes", row.peak_memory_bytes ? std::to_string(*row.peak_memory_bytes) : "");
  fields.emplace_back("path", row.path);
  fields.emplace_back("path_notes", join(row.path_notes, "; "));
  fields.emplace_back("kernels", kernels_text(row.kernels));
  fields.emplace_back("notes", join(texts_of(row.notes), "; "));
  return fields;
}

template <class Pick>
std::string line_of(const CsvFields& fields, Pick pick) {
  std::vector<std::string> cells;
  for (const auto& field : fields) cells.push_back(pick(field));
  return csv_line(cells);
}

}  // namespace

std::string report_csv(const BenchReport& report) {
  std::string text = line_of(fields_of(BenchRow{}), [](const auto& field) { return field.first; });
  for (const BenchRow& row : report.rows)
    text += line_of(fields_of(row), [](const auto& field) { return field.second; });
  return text;
}

}  // namespace rnnlab
