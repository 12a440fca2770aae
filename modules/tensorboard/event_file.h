// One event file of TensorBoard: records with their lengths and checksums (TFRecord), each an Event message of
// TensorFlow's event.proto. Records are written whole as they come, one write(2) each; a full disk is an error. What
// the messages say of summaries and graphs is encoded in the files beside this one.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "system/files.h"

namespace rnnlab::tensorboard {

// CRC-32C, Castagnoli's polynomial, by the processor's own instruction (SSE 4.2, which every processor with AVX2 has).
uint32_t crc32c(std::string_view bytes);

// Seconds since 1970, as events have them.
inline double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

inline constexpr const char* kAnyMachine = "rnnlab";

class EventFile {
 public:
  // A new file, events.out.tfevents.<seconds>.<machine>.<process>, which readers take after those that are in the
  // folder already. `machine` is usually not the host's name, because event files are made to be shared. UserError
  // kDevice.
  explicit EventFile(const std::filesystem::path& folder, std::string machine = kAnyMachine);

  // Readers forget what earlier files say of this step and those after it. UserError kDevice, as all below.
  void append_start(int64_t first_step);
  void append_summary(int64_t step, std::string_view summary);
  void append_graph(std::string_view graph_def);

  // Until the disk has it.
  void sync() { file_.sync(); }

  const std::filesystem::path& path() const { return file_.path(); }

 private:
  void append_event(std::string_view event);

  AppendFile file_;
};

// `data` as one record: 8 bytes of length, 4 of their checksum, the data, 4 of theirs; little-endian.
std::string as_record(std::string_view data);

}  // namespace rnnlab::tensorboard
