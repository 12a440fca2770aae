#include "experiment/failure.h"

#include <c10/util/Exception.h>

#include <new>

namespace rnnlab {
namespace {

constexpr const char* kOutOfMemory = "out of memory; try a smaller training.batch_size or data.num_train";
constexpr const char* kDefect = "\n  this is a defect of rnnlab; please report it";

// The first line says what happened; the others are advice to users of Python, or a stack.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

bool speaks_of_a_device(const std::string& message) {
  return message.find("CUDA") != std::string::npos || message.find("cuDNN") != std::string::npos ||
         message.find("CUBLAS") != std::string::npos;
}

Failure libtorch_failure(const c10::Error& error) {
  const bool cpu_allocator = std::string(error.what()).find("DefaultCPUAllocator") != std::string::npos;
  if (cpu_allocator) return {ExitCode::kDevice, kOutOfMemory};
  const std::string message = first_line(error.what_without_backtrace());
  if (speaks_of_a_device(message))
    return {ExitCode::kDevice, message + "\n  `rnnlab info` shows what this machine can do"};
  return {ExitCode::kInternal, "LibTorch: " + message + kDefect};
}

}  // namespace

Failure describe_failure(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const UserError& error) {
    return {error.exit_code(), error.what()};
  } catch (const c10::OutOfMemoryError& error) {
    return {ExitCode::kDevice, first_line(error.what_without_backtrace()) +
                                   "\n  try a smaller training.batch_size, or data.placement=host"};
  } catch (const c10::Error& error) {
    return libtorch_failure(error);
  } catch (const std::bad_alloc&) {
    return {ExitCode::kDevice, kOutOfMemory};
  } catch (const std::exception& error) {
    return {ExitCode::kInternal, std::string(error.what()) + kDefect};
  }
}

}  // namespace rnnlab
