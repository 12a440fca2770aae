// SPDX-License-Identifier: Apache-2.0
// The keys `device` and `devices` of an experiment: the LibTorch device that a value means on this machine, and the
// processes that train one run together, how they are started and how they join. Whether a layer runs on a device is
// left to the layer.
#pragma once

#include <c10/core/Device.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/system/gpu_info.h"
#include "runs/child_process.h"
#include "runs/experiment.h"
#include "train/ranks/ranks.h"

namespace rnnlab {

// `auto` is the first GPU, or the CPU if there is no GPU; `cuda` is `cuda:0`. Throws UserError kDevice if this machine
// lacks the GPU; the message lists its GPUs. Requires is_device_name(name).
c10::Device resolve_device(const std::string& name);

// Returns NVML's survey of the GPUs of this machine with these UUIDs, which commas separate. The survey has all GPUs if
// none of them can be identified (parts of a GPU, MIG), and no GPU for "".
GpuSurvey survey_of(const std::string& uuids);

// Returns the UUID of the GPU that the device is; "" for a CPU.
std::string uuid_of(c10::Device device);

// Returns the message with which resolve_device(name) would throw; "" if it would not throw.
std::string device_error(const std::string& name);

// Returns a note for the run if `auto` chose the CPU although the machine has a GPU; else nothing.
std::vector<std::string> device_notes(const std::string& name, c10::Device device);

// Returns the driver's fault (gpu_info.h) for the CUDA version of this build; nothing if the driver has no fault.
std::optional<std::string> driver_fault_here();

// Returns "cpu", "cuda", or for example "cuda1" for the second GPU; the label can be part of a folder's name.
std::string device_label(c10::Device device);

// Returns the launch of this process, which is read once. Throws UserError kUsage as launch_of does.
const std::optional<Launch>& this_launch();

// Throws UserError kUsage if a launcher started this process: "<what>: torchrun started 2 processes<why>".
void refuse_launcher(const std::string& what, const std::string& why);

// Returns whether this process of its run writes files and reports to the user; true if it trains alone.
bool is_first_process();

// Returns the number of processes that `devices` asks for, among those that this process would start. Throws UserError
// kUsage if `devices` is `all` and the device is not a GPU.
int64_t num_devices(const Experiment& experiment);

// Throws UserError if this machine cannot train the experiment by the processes that `devices` asks for: kDevice if it
// lacks the device or has too few GPUs, kUsage if `devices: all` is not for GPUs or if they cannot use
// distributed.exchange.
void require_devices(const Experiment& experiment);

// Returns whether this process must start others for this experiment, because no launcher has.
bool needs_ranks(const Experiment& experiment);

// Runs `program` with these arguments, in `experiment.devices` processes, which train one run. What they print is
// printed here. `must_end` is that of run_together; returns the exit code of the first process that failed.
ExitCode run_processes(const Experiment& experiment, const std::string& program,
                       const std::vector<std::string>& arguments, const MustEnd& must_end = {});

// Connects this process to the others that a launcher started; returns the sole_rank() if this process trains alone.
// Throws UserError kUsage if `devices` and the launcher contradict each other, kDevice if there are too few GPUs.
std::shared_ptr<Ranks> join_ranks(const Experiment& experiment);

// Returns the device of this process: each of several processes on GPUs has its own GPU. Throws UserError kDevice if
// there are too few.
c10::Device device_of_process(const Experiment& experiment);

// Facts that must be equal on all ranks, by name. require_equal_facts throws UserError kUsage on every rank, with the
// first fact that differs, the rank, and both values.
using SharedFacts = std::vector<std::pair<std::string, std::string>>;
void require_equal_facts(Ranks& ranks, const SharedFacts& facts);

// Returns the settings that must be equal on all ranks.
SharedFacts equal_settings(const Experiment& experiment);

// Call this function after joining; it connects the GPUs if the ranks train on GPUs. Throws UserError kDevice on all
// ranks if two have the same GPU, and kUsage if their settings differ.
void connect_gpus(Ranks& ranks, const Experiment& experiment);

// Runs `work`, which each process of a launcher does before it joins the others. If `work` fails, the other processes
// end too, and all processes but one throw ReportedElsewhere. run_as_rank() reports failures after a run was joined.
void report_once(const std::function<void()>& work, const std::optional<std::string>& interface = {});

// Returns the experiment that a rank runs: with `devices`, and with its part of the CPUs' threads.
Experiment experiment_for_rank(Experiment experiment, const Ranks& ranks);

}  // namespace rnnlab
