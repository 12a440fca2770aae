// SPDX-License-Identifier: Apache-2.0
#include "results/checkpoint/safetensors.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <numbers>

#include "base/expect_error.h"
#include "base/system/temporary_folder.h"
#include "results/checkpoint/sample_checkpoint.h"

namespace rnnlab::testing {
namespace {

std::string file_text(const SafetensorsImage& image) {
  std::string text;
  for (const std::string_view piece : image.pieces()) text += piece;
  return text;
}

template <class T>
std::vector<T> numbers_of(const TensorFile& file, std::string_view name) {
  const TensorView* tensor = file.find(name);
  if (tensor == nullptr) return {};
  std::vector<T> numbers(tensor->bytes.size() / sizeof(T));
  std::memcpy(numbers.data(), tensor->bytes.data(), tensor->bytes.size());
  return numbers;
}

class EveryDType : public ::testing::TestWithParam<DType> {};

TEST_P(EveryDType, ReadsBackInEveryShape) {
  SampleTensors tensors;
  tensors.add({"matrix", GetParam(), {3, 5}});
  tensors.add({"scalar", GetParam(), {}});
  tensors.add({"empty", GetParam(), {4, 0, 2}});
  tensors.add({"one", GetParam(), {1, 1, 1}});
  const TemporaryFolder folder;
  write_safetensors(folder.path() / "a.safetensors", SafetensorsImage(tensors.views()));
  const TensorFile file = read_safetensors(folder.path() / "a.safetensors");
  EXPECT_EQ(file.tensors.size(), 4u);
  for (const TensorView& written : tensors.views()) {
    const TensorView* read = file.find(written.spec.name);
    ASSERT_NE(read, nullptr) << written.spec.name;
    EXPECT_EQ(read->spec, written.spec);
    EXPECT_TRUE(std::ranges::equal(read->bytes, written.bytes)) << written.spec.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Names, EveryDType,
                         ::testing::Values(DType::kF64, DType::kF32, DType::kF16, DType::kBf16, DType::kI64,
                                           DType::kI32, DType::kI16, DType::kI8, DType::kU8, DType::kBool),
                         [](const auto& dtype) { return std::string(config::name_of(dtype.param)); });

TEST(Safetensors, IsWrittenLikeThis) {
  const std::vector<std::byte> bytes = {std::byte{'a'}, std::byte{'b'}, std::byte{'c'}, std::byte{'d'}};
  const std::span<const std::byte> all = bytes;
  const SafetensorsImage image({{{"b", DType::kU8, {2}}, all.first(2)},
                                {{"a", DType::kU8, {}}, all.first(1)},
                                {{"wide", DType::kF32, {1}}, all}},
                               {{"format", "pt"}});
  EXPECT_EQ(file_text(image), std::string("\xC0\0\0\0\0\0\0\0", 8) +
                                  R"({"__metadata__":{"format":"pt"},)"
                                  R"("wide":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                                  R"("a":{"dtype":"U8","shape":[],"data_offsets":[4,5]},)"
                                  R"("b":{"dtype":"U8","shape":[2],"data_offsets":[5,7]}})"
                                  " abcdaab");
}

TEST(Safetensors, DoesNotDependOnTheOrderOfTensors) {
  const CheckpointContents contents = sample_contents(1);
  std::vector<TensorView> tensors = contents.model;
  const std::string text = file_text(SafetensorsImage(tensors));
  std::ranges::reverse(tensors);
  EXPECT_EQ(file_text(SafetensorsImage(tensors)), text);
}

TEST(Safetensors, HoldsNoTensorsAtAll) {
  const std::string text = file_text(SafetensorsImage({}));
  EXPECT_EQ(text, std::string("\x08\0\0\0\0\0\0\0{}      ", 16));
  EXPECT_TRUE(parse_safetensors(text, "a").tensors.empty());
}

TEST(Safetensors, SharesItsBytesWithCopies) {
  TensorFile copy;
  {
    const TensorFile file = parse_safetensors(file_text(SafetensorsImage(sample_contents(1).model)), "a");
    copy = file;
  }
  EXPECT_EQ(copy.find("bias_hh_l0")->bytes[4], std::byte{1});
  EXPECT_EQ(copy.find("bias"), nullptr);
}

TEST(Safetensors, RefusesWhatItsCallerGotWrong) {
  const std::vector<std::byte> bytes(4);
  EXPECT_THROW(SafetensorsImage({{{"a", DType::kF32, {2}}, bytes}}), InvariantError);
  EXPECT_ANY_THROW(SafetensorsImage({{{"a", DType::kF32, {}}, bytes}, {{"a", DType::kF32, {}}, bytes}}));
}

// Python's package wrote the file: data/make_from_python.py.
TEST(Safetensors, ReadsWhatPythonWrote) {
  const std::string path = RNNLAB_SOURCE_DIR "/tests/results/checkpoint/data/from_python.safetensors";
  const TensorFile file = read_safetensors(path);
  EXPECT_EQ(file.metadata, (TensorMetadata{{"format", "pt"}}));
  EXPECT_EQ(numbers_of<uint8_t>(file, "bool"), (std::vector<uint8_t>{1, 0, 1}));
  EXPECT_EQ(numbers_of<uint16_t>(file, "f16"), (std::vector<uint16_t>{0x3C00, 0xC000}));
  EXPECT_EQ(numbers_of<float>(file, "f32"), (std::vector<float>{0, 0.25, 0.5, 0.75, 1, 1.25}));
  EXPECT_EQ(numbers_of<double>(file, "f64"), (std::vector<double>{std::numbers::pi}));
  EXPECT_EQ(numbers_of<int16_t>(file, "i16"), (std::vector<int16_t>{-300}));
  EXPECT_EQ(numbers_of<int32_t>(file, "i32"), (std::vector<int32_t>{70000}));
  EXPECT_EQ(numbers_of<int64_t>(file, "i64"), (std::vector<int64_t>{-1, int64_t{1} << 40}));
  EXPECT_EQ(numbers_of<int8_t>(file, "i8"), (std::vector<int8_t>{-128, 127}));
  EXPECT_EQ(numbers_of<float>(file, "scalar"), (std::vector<float>{2.5}));
  EXPECT_EQ(numbers_of<uint8_t>(file, "u8"), (std::vector<uint8_t>{255}));
  EXPECT_EQ(numbers_of<uint8_t>(file, "größe \"x\"\n"), (std::vector<uint8_t>{1}));
  EXPECT_EQ(file.find("f32")->spec.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(file.find("empty")->spec.shape, (std::vector<int64_t>{0, 3}));
}

// RNNLAB_PYTHON names an interpreter with the packages `safetensors` and `numpy`, if "python3" does not have them.
TEST(Safetensors, IsReadByPython) {
  const char* named = std::getenv("RNNLAB_PYTHON");
  const std::string python = named == nullptr ? "python3" : named;
  if (std::system((python + " -c 'import safetensors.numpy' 2>/dev/null").c_str()) != 0)
    GTEST_SKIP() << python << " has no package safetensors or numpy: RNNLAB_PYTHON=... names one that has";
  const TemporaryFolder folder;
  SampleTensors tensors;
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kI64, DType::kI32, DType::kI16, DType::kI8,
                            DType::kU8, DType::kBool})
    tensors.add({std::string(config::name_of(dtype)), dtype, {2, 3}});
  tensors.add({"größe \"x\"\n", DType::kI64, {}});
  tensors.add({"empty", DType::kF32, {0, 3}});
  write_safetensors(folder.path() / "a.safetensors", SafetensorsImage(tensors.views(), {{"format", "pt"}}));
  write_text(folder.path() / "check.py", R"(
import sys
from safetensors.numpy import load_file
from safetensors import safe_open
tensors = load_file(sys.argv[1])
assert len(tensors) == 11, sorted(tensors)
assert tensors["empty"].shape == (0, 3)
assert tensors['größe "x"\n'].shape == ()
for name in "I64 I32 I16 I8 U8 BOOL".split():
    one = int.from_bytes(b"\1" * tensors[name].itemsize, "little")
    assert tensors[name].tolist() == [[0, one, 0], [one, 0, one]], name
for name in "F64 F32 F16".split():
    assert tensors[name].tobytes() == b"".join(bytes([i % 2]) * tensors[name].itemsize for i in range(6)), name
assert safe_open(sys.argv[1], "np").metadata() == {"format": "pt"}
)");
  const std::string command = python + " " + folder.name("check.py") + " " + folder.name("a.safetensors");
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST(ReadSafetensors, RefusesOtherFilesBeforeReadingThem) {
  const TemporaryFolder folder;
  write_text(folder.path() / "big", std::string(8, '\xFF'));
  std::filesystem::resize_file(folder.path() / "big", uintmax_t{1} << 40);  // of zeros that take no space
  expect_error(ExitCode::kCheckpoint, [&] { read_safetensors(folder.path() / "big"); });
}

TEST(ReadSafetensors, SaysWhatCannotBeRead) {
  const TemporaryFolder folder;
  expect_error(ExitCode::kCheckpoint, [&] { read_safetensors(folder.path() / "none"); });
  expect_error(ExitCode::kCheckpoint, [&] { read_safetensors(folder.path()); });
}

TEST(WriteSafetensors, SaysWhereItCannotWrite) {
  expect_error(ExitCode::kUsage, [] { write_safetensors("/no/such/a", SafetensorsImage({})); });
}

TensorFile file_with(const std::vector<TensorSpec>& specs) {
  TensorFile file;
  file.name = "m.safetensors";
  for (const TensorSpec& spec : specs) file.tensors.push_back({spec, {}});
  return file;
}

const TensorSpec kWeight = {"weight", DType::kF32, {2, 3}};
const TensorSpec kBias = {"bias", DType::kF32, {3}};

void expect_tensors_refused(const std::vector<TensorSpec>& got,
                            const std::vector<TensorSpec>& wanted = {kWeight, kBias}) {
  expect_error(ExitCode::kCheckpoint, [&] { require_tensors(file_with(got), wanted); });
}

TEST(RequireTensors, TakesThemInAnyOrder) {
  require_tensors(file_with({kBias, kWeight}), {kWeight, kBias});
  require_tensors(file_with({}), {});
}

TEST(RequireTensors, NamesWhatDiffersAndCountsTheOthers) {
  expect_tensors_refused({{"weight", DType::kF32, {3, 2}}, kBias});
  expect_tensors_refused({{"weight", DType::kF64, {2, 3}}, kBias});
  expect_tensors_refused({kWeight});
  expect_tensors_refused({kWeight, kBias, {"gain", DType::kF16, {}}});
  expect_tensors_refused({kWeight, {"gain", DType::kF16, {}}});
  expect_tensors_refused({});
  expect_tensors_refused({{"a", DType::kU8, {}}, {"b", DType::kU8, {}}});
}

TEST(RequireTensors, FindsTheLayerAmongTheMembersOfAModel) {
  expect_tensors_refused({{"lstm.weight_ih_l0", DType::kF32, {4, 1}}},
                         {{"recurrent.weight_ih_l0", DType::kF32, {4, 1}}});
}

}  // namespace
}  // namespace rnnlab::testing
