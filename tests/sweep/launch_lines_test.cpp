#include "sweep/launch_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rnnlab {
namespace {

using ::testing::HasSubstr;

TEST(LaunchLines, CountTheTasks) {
  const std::string lines = launch_lines("sweeps/a", 24);
  EXPECT_THAT(lines, HasSubstr("  rnnlab sweep work sweeps/a  "));
  EXPECT_THAT(lines, HasSubstr("  sbatch --array=0-23 --requeue --open-mode=append --signal=TERM@120 --wrap 'srun "
                               "--ntasks=1 rnnlab train --wait --task $SLURM_ARRAY_TASK_ID sweeps/a'\n"));
  EXPECT_THAT(lines, HasSubstr("  seq 0 23 | parallel -j 1 rnnlab train --task {} sweeps/a\n"));
  EXPECT_THAT(lines, HasSubstr("  seq 0 23 | xargs -P 1 -I {} rnnlab train --task {} sweeps/a\n"));
}

}  // namespace
}  // namespace rnnlab
