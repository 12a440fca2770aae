#include "tensorboard/hyperparameters.h"

#include <protozero/pbf_writer.hpp>

#include "base/numbers.h"
#include "tensorboard/wall_time.h"

namespace rnnlab::tensorboard {
namespace {

using protozero::pbf_tag_type;
using protozero::pbf_writer;

constexpr pbf_tag_type kSessionStartInfo = 3, kSessionEndInfo = 4;  // of HParamsPluginData

// google.protobuf.Value.
void add_value(pbf_writer& entry, pbf_tag_type field, const std::string& text) {
  constexpr pbf_tag_type kNumber = 2, kText = 3, kBool = 4;
  pbf_writer value(entry, field);
  const auto number = parse_double(text);
  if (text == "true" || text == "false")
    value.add_bool(kBool, text == "true");
  else if (number)
    value.add_double(kNumber, *number);
  else
    value.add_string(kText, text);
}

// A tensor of one float64, 0: readers want one, and look at what the plugin has alone.
std::string empty_tensor() {
  constexpr pbf_tag_type kType = 1, kShape = 2, kDoubles = 6;
  constexpr int32_t kDouble = 2;
  std::string tensor;
  pbf_writer writer(tensor);
  writer.add_enum(kType, kDouble);
  writer.add_message(kShape, std::string());
  writer.add_double(kDoubles, 0.0);
  return tensor;
}

// A Summary of one value with the plugin's data, TensorFlow's summary.proto.
std::string hparams_summary(const std::string& tag, pbf_tag_type info_field, const std::string& info) {
  constexpr pbf_tag_type kValue = 1, kTag = 1, kTensor = 8, kMetadata = 9;
  constexpr pbf_tag_type kPluginData = 1, kDataClass = 4, kPluginName = 1, kContent = 2;
  constexpr int32_t kTensorData = 2;
  std::string content, summary;
  pbf_writer(content).add_message(info_field, info);
  pbf_writer writer(summary);
  pbf_writer value(writer, kValue);
  value.add_string(kTag, tag);
  value.add_message(kTensor, empty_tensor());
  pbf_writer metadata(value, kMetadata);
  {
    pbf_writer data(metadata, kPluginData);
    data.add_string(kPluginName, "hparams");
    data.add_bytes(kContent, content);
  }
  metadata.add_enum(kDataClass, kTensorData);
  return summary;
}

}  // namespace

std::string session_start(const std::map<std::string, std::string>& settings) {
  constexpr pbf_tag_type kSettings = 1, kStartTime = 5, kKey = 1, kValue = 2;
  std::string info;
  pbf_writer writer(info);
  for (const auto& [key, text] : settings) {
    pbf_writer entry(writer, kSettings);
    entry.add_string(kKey, key);
    add_value(entry, kValue, text);
  }
  writer.add_double(kStartTime, wall_time());
  return hparams_summary("_hparams_/session_start_info", kSessionStartInfo, info);
}

std::string session_end(SessionEnd end) {
  constexpr pbf_tag_type kStatus = 1, kEndTime = 2;
  std::string info;
  pbf_writer writer(info);
  writer.add_enum(kStatus, static_cast<int32_t>(end));
  writer.add_double(kEndTime, wall_time());
  return hparams_summary("_hparams_/session_end_info", kSessionEndInfo, info);
}

}  // namespace rnnlab::tensorboard
