// SPDX-License-Identifier: Apache-2.0
#include "runs/failure.h"

#include <c10/util/Exception.h>

#include <ctime>
#include <filesystem>
#include <new>
#include <system_error>

#include "base/file_handles.h"
#include "base/folder.h"
#include "base/system/files.h"
#include "base/system/json_fields.h"
#include "base/text.h"
#include "train/loop/determinism.h"

namespace rnnlab {
namespace {

constexpr const char* kWhatToReduce =
    "\n  reduce training.batch_size, model.hidden_size or the sequences' length (data.sequence_length, data.window)";
constexpr const char* kDefect = "\n  this is a defect of rnnlab; please report it";

// These libraries do not have their own types of errors.
bool names_library_of_device(const std::string& message) {
  return message.find("CUDA") != std::string::npos || message.find("cuDNN") != std::string::npos ||
         message.find("CUBLAS") != std::string::npos;
}

// These are the words of the system's errors EMFILE and ENFILE, and of libuv, whose loop needs several handles.
bool is_about_handles(const std::string& message) {
  return message.find("Too many open files") != std::string::npos || message.find("init uv loop") != std::string::npos;
}

Failure too_few_handles(const std::string& message) { return {ExitCode::kDevice, message + "; " + kMoreHandles}; }

Failure out_of_memory() {
  return {ExitCode::kDevice, std::string("out of memory") + kWhatToReduce + ", or data.num_train"};
}

// Only the first line of LibTorch's messages describes the error; the later lines are advice to users of Python, or a
// stack.
Failure device_failure(const c10::Error& error) {
  return {ExitCode::kDevice,
          first_line(error.what_without_backtrace()) + "\n  `rnnlab info` shows what this machine can do"};
}

// A connection between the processes of a run could not be made or was lost, and nobody who knows more reported it.
Failure connection_failure(const c10::Error& error) {
  const std::string message = first_line(error.what_without_backtrace());
  if (is_about_handles(message)) return too_few_handles(message);
  return {ExitCode::kDevice,
          message + "\n  the processes of a run connect to each other: check the network, also the interface lo"};
}

Failure libtorch_failure(const c10::Error& error) {
  const bool cpu_allocator = std::string(error.what()).find("DefaultCPUAllocator") != std::string::npos;
  if (cpu_allocator) return out_of_memory();
  if (is_about_handles(error.what_without_backtrace()))
    return too_few_handles("LibTorch: " + first_line(error.what_without_backtrace()));
  const std::string message = first_line(error.what_without_backtrace());
  if (names_library_of_device(message)) return device_failure(error);
  if (message.find("/dev/urandom") != std::string::npos)
    return {ExitCode::kDevice, message + "; check that /dev is mounted"};
  return {ExitCode::kInternal, "LibTorch: " + message + kDefect};
}

}  // namespace

Failure describe_failure(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const UserError& error) {
    return {error.exit_code(), error.what()};
  } catch (const c10::OutOfMemoryError& error) {
    return {ExitCode::kDevice,
            first_line(error.what_without_backtrace()) + kWhatToReduce + ", or set data.placement=host"};
  } catch (const c10::AcceleratorError& error) {
    return device_failure(error);
  } catch (const c10::DistNetworkError& error) {
    return connection_failure(error);
  } catch (const c10::DistStoreError& error) {
    return connection_failure(error);
  } catch (const c10::Error& error) {
    return libtorch_failure(error);
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::resource_unavailable_try_again) return {ExitCode::kDevice, kNoMoreThreads};
    if (is_limit_on_handles(error.code().value())) return too_few_handles(error.what());
    return {ExitCode::kInternal, std::string(error.what()) + kDefect};
  } catch (const std::exception& error) {
    return {ExitCode::kInternal, std::string(error.what()) + kDefect};
  }
}

void write_error_file(const std::string& message) noexcept {
  try {
    const std::string path = environment_variable("TORCHELASTIC_ERROR_FILE");
    if (path.empty() || path_exists(path)) return;
    const Json extra = {{"timestamp", std::to_string(std::time(nullptr))}, {"py_callstack", ""}};
    const Json file = {{"message", {{"message", on_one_line(message)}, {"extraInfo", extra}}}};
    write_file_atomically(path, file.dump() + "\n");
  } catch (const std::exception&) {
    return;
  }
}

}  // namespace rnnlab
