// One event file of TensorBoard: records with their lengths and checksums (TFRecord), each an Event message of
// TensorFlow's event.proto. Each record is appended with one write(2); a full disk is an error. Summaries and graphs
// are encoded in summaries.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "system/files.h"

namespace rnnlab::tensorboard {

// Returns the CRC-32C (Castagnoli's polynomial), by an instruction of SSE 4.2, which every processor with AVX2 has.
uint32_t crc32c(std::string_view bytes);

// Returns seconds since 1970, as events store them.
inline double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

inline constexpr const char* kAnyMachine = "rnnlab";

class EventFile {
 public:
  // Creates a new file, events.out.tfevents.<seconds>.<machine>.<process>, which readers read after the existing files
  // of the folder. `machine` is usually not the host's name, because event files are shared. Throws UserError kDevice.
  explicit EventFile(const std::filesystem::path& folder, std::string machine = kAnyMachine);

  // Makes readers drop the values of earlier files for this step and later steps. Like all functions below, it throws
  // UserError kDevice.
  void append_start(int64_t first_step);
  void append_summary(int64_t step, std::string_view summary);
  void append_graph(std::string_view graph_def);

  // Waits until the file is on the disk.
  void sync() { file_.sync(); }

  const std::filesystem::path& path() const { return file_.path(); }

 private:
  void append_event(std::string_view event);

  AppendFile file_;
};

// Returns `data` as one record: 8 bytes of length, 4 bytes of its checksum, the data, 4 bytes of its checksum;
// little-endian.
std::string as_record(std::string_view data);

}  // namespace rnnlab::tensorboard
