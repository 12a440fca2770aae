// SPDX-License-Identifier: Apache-2.0
// rnnlab rank: sorts finished runs by how good they are.
#include <fmt/format.h>

#include <CLI/Option.hpp>

#include "arguments.h"
#include "base/error.h"
#include "base/text.h"
#include "output.h"
#include "results/own_cells.h"
#include "results/ranking.h"
#include "run_names.h"
#include "verbs.h"

namespace rnnlab::app {
namespace {

constexpr const char* kRankFooter = R"(
Runs that differ only in their seed are one row, with mean and spread, and so are the folds of a back-test (data.folds).
Everything else in which runs differ is a column.
The value is that of each run's best epoch: by training.early_stopping if that is set, else by the validation loss.
Nothing is refused, so a folder of folders may be named too. Damaged runs are left out, with exit code 3. Times are
listed without comparison.

Examples:
  rnnlab rank weather                         (runs/weather, if there is no such path here)
  rnnlab rank runs --by valid_mae --csv > runs.csv)";

struct RankOptions {
  std::vector<std::string> folders;
  std::string metric;
  bool json = false;
  bool csv = false;
};

ExitCode rank_runs(const RankOptions& options) {
  std::vector<RunRecord> runs;
  std::vector<std::string> damaged;
  for (const std::string& folder : named_runs_of_all(options.folders)) {
    try {
      runs.push_back(load_run(folder));
    } catch (const UserError& error) {
      if (error.exit_code() != ExitCode::kData) throw;
      damaged.emplace_back(error.what());
      print_notice(fmt::format("rnnlab: left out: {}\n", error.what()));
    }
  }
  if (runs.empty() && !damaged.empty()) throw UserError(ExitCode::kData, join(damaged, "\n"));
  name_own_cells(runs);
  const Ranking ranking = rank(runs, options.metric);
  if (options.json)
    print_data(ranking_json(ranking));
  else if (options.csv)
    print_data(ranking_csv(ranking));
  else
    print_text(ranking_text(ranking, table_width()));
  return damaged.empty() ? ExitCode::kDone : ExitCode::kData;
}

}  // namespace

void add_rank(CLI::App& program, Action& chosen) {
  const auto [command, options] =
      add_verb<RankOptions>(program, chosen, "rank", "Sort finished runs by how good they are", kRankFooter, rank_runs);
  command->add_option("folders", options->folders, "run folders, folders full of them, or names of experiments")
      ->required()
      ->type_name("RUN");
  command
      ->add_option("--by", options->metric,
                   "a metric of epochs.csv, such as valid_rmse; by default the one of the first run's task")
      ->type_name("METRIC");
  auto* json = command->add_flag("--json", options->json, "print JSON");
  command->add_flag("--csv", options->csv, "print CSV")->excludes(json);
}

}  // namespace rnnlab::app
