// SPDX-License-Identifier: Apache-2.0
// Arrays of .npz archives as data: found, loaded, and described by `data inspect`.
#include <fmt/format.h>

#include <sstream>

#include "base/text.h"
#include "data/find_data.h"
#include "data/inspect.h"
#include "data/load_dataset.h"
#include "data/readers/reader_files.h"
#include "data_test.h"
#include "golden.h"

namespace rnnlab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class NpzFiles : public DataTest {
 protected:
  template <class T>
  ZipMember member(const std::string& name, const std::string& type, const std::string& shape,
                   const std::vector<T>& values) const {
    write_npy("member", type, shape, values);
    return {.name = name + ".npy", .content = read("member"), .method = 8};
  }

  // Four sequences of two steps, with classes and lengths, and two for tests.
  void write_archive(const std::string& name, const std::string& inputs = "x_train",
                     const std::string& targets = "y_train", const std::string& lengths = "lengths_train") const {
    write(name, zip_of({member<float>(inputs, "<f4", "4, 2, 1", {1, 2, 3, 4, 5, 6, 7, 8}),
                        member<int64_t>(targets, "<i8", "4,", {0, 1, 0, 1}),
                        member<int64_t>(lengths, "<i8", "4,", {1, 2, 2, 1}),
                        member<float>("x_test", "<f4", "2, 2, 1", {1, 2, 3, 4}),
                        member<int64_t>("y_test", "<i8", "2,", {0, 1})}));
  }

  static FileInspection inspected(const std::string& file) { return std::get<FileInspection>(inspect_file(file)); }
};

TEST_F(NpzFiles, AreFoundByTheNameBeforeTheColon) {
  write("d/a.npz", "");
  EXPECT_EQ(find_data({"d", "a.npz:x", "", ""}), "d/a.npz:x");
  EXPECT_EQ(find_data({"", "d/a.npz:x", "", ""}), "d/a.npz:x");
  EXPECT_THAT(error_of(ExitCode::kData,
                       [] {
                         find_data({"d", "b.npz:x", "", "Advice."});
                       }),
              HasSubstr("searched:\n  {}/d/b.npz\n"));
  DataSettings settings = parse_settings("source: npy\npath: d\ntrain_inputs: a.npz:x\ntrain_targets: a.npz:y\n");
  EXPECT_THAT(data_files(settings), ElementsAre(std::filesystem::path("d/a.npz")));
  EXPECT_EQ(resolve_data_path(settings, "/elsewhere"), "d");
  std::filesystem::create_directory(folder() / "e");
  std::filesystem::current_path(folder() / "e");
  EXPECT_EQ(resolve_data_path(settings, folder()), path("d"));
}

TEST_F(NpzFiles, TrainLikeFilesOfTheirOwn) {
  write_archive("a.npz");
  const DataSettings settings = parse_settings(
      "source: npy\npath: .\ntrain_inputs: a.npz:x_train\ntrain_targets: a.npz:y_train\ntrain_lengths: "
      "a.npz:lengths_train\nsplit: ordered\nnum_valid: 1\n");
  const Dataset data = load_dataset(settings);
  expect_golden(data.description);
  EXPECT_THAT(values_of<float>(data.train.inputs), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(values_of<int64_t>(data.train.lengths), ElementsAre(1, 2, 2));
  EXPECT_GT(least_data_bytes(settings), 0);
}

TEST_F(NpzFiles, AreListedWithLinesThatTrain) {
  write_archive("a.npz");
  expect_golden(inspection_text(inspect_file("a.npz")));
  EXPECT_EQ(inspection_json(inspect_file("a.npz"))["arrays"][0]["name"], "x_train");
  expect_golden(inspection_text(inspect_file("a.npz:x_train")));
}

TEST_F(NpzFiles, AreRecognisedByOtherNames) {
  write_archive("a.npz", "inputs", "targets", "lengths");
  expect_golden(join(inspected("a.npz").yaml, "|"));
  write_archive("a.npz", "signal", "kind", "n");
  expect_golden(inspected("a.npz").hints);
}

TEST_F(NpzFiles, ShowOneArrayByItsName) {
  write_archive("a.npz");
  EXPECT_THAT(inspection_text(inspect_file("a.npz:y_train")), HasSubstr("npy, 4 i64, from 0 to 1"));
}

TEST_F(NpzFiles, ShowTheOthersIfOneCannotBeRead) {
  write("a.npz", zip_of({member<float>("x", "<f4", "1, 2", {1, 2}), {.name = "broken.npy", .content = "?"}}));
  const FileInspection file = inspected("a.npz");
  EXPECT_EQ(file.content["arrays"].size(), 1U);
  expect_golden(file.hints[0]);
}

TEST_F(NpzFiles, AreRefusedIfNoArrayCanBeRead) {
  write("a.npz", zip_of({{.name = "x.npy", .content = "?"}, {.name = "y.npy", .content = "?"}}));
  EXPECT_THAT(error_of(ExitCode::kData, [] { inspect_file("a.npz"); }), HasSubstr("byte 0: got 3f"));
}

TEST_F(NpzFiles, MayCallTheirLengthsN) {
  write_archive("a.npz", "x_train", "y_train", "n_train");
  EXPECT_THAT(join(inspected("a.npz").yaml, "|"), HasSubstr("|  train_lengths: \"a.npz:n_train\"|"));
  write_archive("a.npz", "x", "y", "n");
  EXPECT_THAT(join(inspected("a.npz").yaml, "|"), HasSubstr("|  train_lengths: \"a.npz:n\"|"));
}

TEST_F(NpzFiles, AreNotOtherZipArchives) {
  const std::string archive = zip_of({{.name = "sheet.xml", .content = "x"}});
  write("a.xlsx", archive);
  expect_golden(error_of(ExitCode::kData, [] { inspect_file("a.xlsx"); }));
  write("a.npz", archive);
  expect_golden(error_of(ExitCode::kData, [] { inspect_file("a.npz"); }));
  write_archive("a.zip");
  expect_golden(inspected("a.zip").hints);
}

}  // namespace
}  // namespace rnnlab
