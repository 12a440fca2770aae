#include "sweep/launch_lines.h"

#include <fmt/format.h>

#include "base/text.h"

namespace rnnlab {

std::string launch_lines(const std::string& folder, int64_t num_tasks) {
  const std::string quoted = shell_quoted(folder);
  // `--wrap` takes the whole command as one word, so the folder in it is quoted for a second shell.
  const std::string command = fmt::format("srun --ntasks=1 rnnlab train --wait --task $SLURM_ARRAY_TASK_ID {}", quoted);
  const int64_t last = num_tasks - 1;
  return fmt::format(
             "  rnnlab sweep work {}          # on any machine that sees the folder, as often as you like\n"
             "  rnnlab sweep work {} --gpus   # one worker for each GPU of this machine\n",
             quoted, quoted) +
         fmt::format("  sbatch --array=0-{} --requeue --open-mode=append --signal=TERM@120 --wrap {}\n", last,
                     shell_quoted(command)) +
         fmt::format("  seq 0 {} | parallel -j 1 rnnlab train --task {{}} {}\n", last, quoted) +
         fmt::format("  seq 0 {} | xargs -P 1 -I {{}} rnnlab train --task {{}} {}\n", last, quoted);
}

}  // namespace rnnlab
