// SPDX-License-Identifier: Apache-2.0
#include "base/config/settings.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace rnnlab::config::testing {

const Schema<Training>& Training::schema() {
  static const Schema<Training> schema = [] {
    Schema<Training> s("How the weights are fitted");
    s.field("epochs", &Training::epochs, "passes over the training data").at_least(1);
    s.field("warmup_epochs", &Training::warmup_epochs, "epochs left out of the timing").unit("epochs").at_least(0);
    s.field("batch_size", &Training::batch_size, "samples a step").unit("samples").at_least(1).at_most(4096);
    s.field("learning_rate", &Training::learning_rate, "the optimiser's step").above(0);
    s.field("clip_norm", &Training::clip_norm, "largest norm of the gradient").above(0);
    s.field("deterministic", &Training::deterministic, "bit-identical from run to run");
    s.field("decay_at", &Training::decay_at, "epochs at which the rate drops").at_least(1);
    s.check([](const Training& t, Checker& checker) {
      if (t.warmup_epochs >= t.epochs) checker.complain({"warmup_epochs", "epochs"}, "no epoch is left to measure");
    });
    return s;
  }();
  return schema;
}

const Schema<Model>& Model::schema() {
  static const Schema<Model> schema = [] {
    Schema<Model> s("The network");
    s.field("cell", &Model::cell, "the recurrent cell");
    s.field("hidden_size", &Model::hidden_size, "units a layer").at_least(1);
    s.field("bidirectional", &Model::bidirectional, "read the sequence from both ends");
    s.field("kind", &Model::kind, "what it predicts").not_empty();
    return s;
  }();
  return schema;
}

const Schema<Experiment>& Experiment::schema() {
  static const Schema<Experiment> schema = [] {
    Schema<Experiment> s("An experiment");
    s.field("name", &Experiment::name, "names the run folder");
    s.field("device", &Experiment::device, "where it runs").where("auto, cpu or cuda:N", [](const std::string& device) {
      return device == "auto" || device == "cpu" || device.starts_with("cuda:");
    });
    s.field("seed", &Experiment::seed, "start of every random number");
    s.field("features", &Experiment::features, "columns to learn from").not_empty();
    s.field("weights", &Experiment::weights, "weight of each class").at_least(0).below(1);
    s.field("cells", &Experiment::cells, "cells to compare");
    s.field("limit", &Experiment::limit, "samples to use").at_least(1);
    s.group("model", &Experiment::model, "the network", Model::schema());
    s.group("training", &Experiment::training, "how the weights are fitted", Training::schema());
    s.check([](const Experiment& e, Checker& checker) {
      if (e.model.bidirectional && e.model.kind == "language_model")
        checker.complain({"model.bidirectional", "model.kind"}, "a language model must not read ahead");
    });
    s.check([](const Experiment& e, Checker& checker) {
      const std::string before = e.name.substr(0, e.name.find("(!)"));
      if (before == e.name) return;
      const auto line = static_cast<int>(1 + std::ranges::count(before, '\n'));
      checker.complain_in_text("name", {line, static_cast<int>(before.size() - before.rfind('\n'))},
                               "a name warns nobody");
    });
    return s;
  }();
  return schema;
}

namespace {

Experiment read_all(const std::string& text, const std::vector<std::string>& overrides, Findings& findings) {
  Document document = Document::from_text(text, "exp.yaml", findings);
  for (const std::string& assignment : overrides) document.apply_override(assignment, findings);
  return read(document, Experiment::schema(), findings);
}

}  // namespace

std::vector<std::string> complaints(const std::string& text, const std::vector<std::string>& overrides) {
  Findings findings;
  read_all(text, overrides, findings);
  return findings.lines();
}

Experiment accepted(const std::string& text, const std::vector<std::string>& overrides) {
  Findings findings;
  Experiment experiment = read_all(text, overrides, findings);
  EXPECT_THAT(findings.lines(), ::testing::IsEmpty()) << text;
  return experiment;
}

}  // namespace rnnlab::config::testing
