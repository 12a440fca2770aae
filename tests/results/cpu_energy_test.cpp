#include "results/cpu_energy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "results/temporary_folder.h"

namespace rnnlab::testing {
namespace {

using ::testing::DoubleEq;
using ::testing::Optional;

class CpuEnergyOfFiles : public ::testing::Test {
 protected:
  void write(const std::string& zone, const std::string& file, const std::string& text) const {
    const auto folder = root_.path() / "sys/class/powercap" / zone;
    std::filesystem::create_directories(folder);
    write_text(folder / file, text + "\n");
  }
  void add_zone(const std::string& zone, const std::string& name, const std::string& energy) const {
    write(zone, "name", name);
    write(zone, "max_energy_range_uj", "262143328850");
    write(zone, "energy_uj", energy);
  }

  TemporaryFolder root_;
};

TEST_F(CpuEnergyOfFiles, IsThatOfAllPackages) {
  add_zone("intel-rapl:0", "package-0", "1000000");
  add_zone("intel-rapl:1", "package-1", "5000000");
  add_zone("intel-rapl:0:0", "core", "9");
  add_zone("intel-rapl:2", "psys", "9");
  CpuEnergy energy(root_.path());
  energy.start();
  write("intel-rapl:0", "energy_uj", "3500000");
  write("intel-rapl:1", "energy_uj", "6000000");
  write("intel-rapl:0:0", "energy_uj", "99999999");
  EXPECT_THAT(energy.joules(), Optional(DoubleEq(3.5)));
}

TEST_F(CpuEnergyOfFiles, IsRightWhereACounterBeginsAgain) {
  add_zone("intel-rapl:0", "package-0", "262142328850");
  CpuEnergy energy(root_.path());
  energy.start();
  write("intel-rapl:0", "energy_uj", "2000000");
  EXPECT_THAT(energy.joules(), Optional(DoubleEq(3)));
}

TEST_F(CpuEnergyOfFiles, IsNothingWhereItCannotBeRead) {
  EXPECT_EQ(CpuEnergy(root_.path()).joules(), std::nullopt);
  write("intel-rapl:0", "name", "package-0");
  CpuEnergy energy(root_.path());
  energy.start();
  EXPECT_EQ(energy.joules(), std::nullopt);
}

}  // namespace
}  // namespace rnnlab::testing
