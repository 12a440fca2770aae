// SPDX-License-Identifier: Apache-2.0
#include "data/mapped_array.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <thread>

#include "data_test.h"
#include "golden.h"

namespace rnnlab {
namespace {

class MappedArrays : public DataTest {
 protected:
  void write_numbers() const { write_npy<float>("x.npy", "<f4", "3, 2", {1, 2, 3, 4, 5, 6}); }

  std::string map_error() const {
    return error_of(ExitCode::kData, [&] { MappedArray{path("x.npy")}; });
  }
};

TEST_F(MappedArrays, HasTheElementsOfTheFile) {
  write_numbers();
  const MappedArray array(path("x.npy"));
  EXPECT_THAT(array.layout().shape, ::testing::ElementsAre(3, 2));
  std::vector<float> values(6);
  ASSERT_EQ(array.bytes().size(), 24);
  std::memcpy(values.data(), array.bytes().data(), 24);
  EXPECT_THAT(values, ::testing::ElementsAre(1, 2, 3, 4, 5, 6));
  array.will_need(8, 16);
  array.require_unchanged();
}

TEST_F(MappedArrays, RefusesAFileThatIsNotAsLongAsItsHeaderSays) {
  write_numbers();
  std::filesystem::resize_file(path("x.npy"), 150);
  expect_golden(map_error());
  std::filesystem::resize_file(path("x.npy"), 153);
  expect_golden(map_error());
  std::filesystem::resize_file(path("x.npy"), 100);
  expect_golden(map_error());
}

TEST_F(MappedArrays, RefusesSizesThatOverflow) {
  write_npy<float>("x.npy", "<f4", "4611686018427387904, 4611686018427387904", {1, 2});
  expect_golden(map_error());
}

TEST_F(MappedArrays, SaysHowToConvertWhatCannotBeMapped) {
  write_numbers();
  replace_in("x.npy", "False", "True ");
  expect_golden(map_error());
  write_npy<uint32_t>("x.npy", ">f4", "2, 1", {0, 0});
  expect_golden(map_error());
  write_numbers();
  ASSERT_EQ(std::system("gzip x.npy"), 0);
  std::filesystem::rename("x.npy.gz", "x.npy");
  expect_golden(map_error());
}

TEST_F(MappedArrays, RefusesWhatIsNotARegularFile) {
  std::filesystem::create_directory("x.npy");
  expect_golden(map_error());
}

constexpr const char* kCutOff =
    "^rnnlab: error: .*/x.npy: the file cannot be read any more, because it was cut off or its disk fails: restore "
    "the file and resume the run\n$";

// A child that forks has the signal handlers of the tests before, so each child is a new process. It ends without
// destructors, so it removes its folder itself.
class FaultsOfMappedArrays : public MappedArrays {
 protected:
  FaultsOfMappedArrays() {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    write_npy<float>("x.npy", "<f4", "65536, 1", std::vector<float>(65536, 1));
  }

  void read_beyond_the_end() const {
    const MappedArray array(path("x.npy"));
    std::filesystem::resize_file(path("x.npy"), 4096);
    std::filesystem::remove_all(folder());
    const volatile std::byte last = array.bytes().back();
    std::_Exit(static_cast<int>(last));
  }
};

TEST_F(FaultsOfMappedArrays, SayThatTheFileIsCutOffIfItIsDuringARead) {
  EXPECT_EXIT(read_beyond_the_end(), ::testing::ExitedWithCode(3), kCutOff);
}

TEST_F(FaultsOfMappedArrays, EndTheProcessFromAWorkerThread) {
  const auto read_on_a_thread = [this] { std::jthread([this] { read_beyond_the_end(); }).join(); };
  EXPECT_EXIT(read_on_a_thread(), ::testing::ExitedWithCode(3), kCutOff);
}

// Standard error is a full pipe that nobody reads.
TEST_F(FaultsOfMappedArrays, EndTheProcessIfNobodyReadsTheMessage) {
  const auto read_with_a_full_pipe = [this] {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_NONBLOCK) != 0) std::_Exit(1);
    while (::write(ends[1], ends.data(), 1) == 1) {
    }
    ::fcntl(ends[1], F_SETFL, 0);
    ::dup2(ends[1], STDERR_FILENO);
    read_beyond_the_end();
  };
  EXPECT_EXIT(read_with_a_full_pipe(), ::testing::ExitedWithCode(3), "");
}

// A sanitizer has a handler for SIGBUS.
TEST_F(FaultsOfMappedArrays, LeaveOtherFaultsToTheSystem) {
  const auto raise_bus_error = [this] {
    ::signal(SIGBUS, SIG_DFL);
    const MappedArray array(path("x.npy"));
    std::filesystem::remove_all(folder());
    ::raise(SIGBUS);
  };
  EXPECT_EXIT(raise_bus_error(), ::testing::KilledBySignal(SIGBUS), "");
}

TEST_F(MappedArrays, NoticesAChangeOfTheFile) {
  write_numbers();
  const MappedArray array(path("x.npy"));
  const auto later = std::filesystem::last_write_time(path("x.npy")) + std::chrono::seconds(1);
  std::filesystem::last_write_time(path("x.npy"), later);
  expect_golden(error_of(ExitCode::kData, [&] { array.require_unchanged(); }));
}

}  // namespace
}  // namespace rnnlab
