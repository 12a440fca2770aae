#include "tensorboard/histogram.h"

#include <numeric>
#include <protozero/pbf_writer.hpp>
#include <vector>

namespace rnnlab::tensorboard {
namespace {

std::vector<double> right_edges(const Histogram& histogram) {
  const auto num_buckets = static_cast<double>(histogram.counts.size());
  std::vector<double> edges;
  for (size_t bucket = 1; bucket < histogram.counts.size(); ++bucket)
    edges.push_back(histogram.lowest +
                    (histogram.highest - histogram.lowest) * (static_cast<double>(bucket) / num_buckets));
  edges.push_back(histogram.highest);
  return edges;
}

// TensorFlow's HistogramProto, histogram.proto.
std::string histogram_proto(const Histogram& histogram) {
  constexpr protozero::pbf_tag_type kMin = 1, kMax = 2, kNum = 3, kSum = 4, kSumSquares = 5, kLimits = 6, kCounts = 7;
  const auto edges = right_edges(histogram);
  std::string message;
  protozero::pbf_writer writer(message);
  writer.add_double(kMin, histogram.lowest);
  writer.add_double(kMax, histogram.highest);
  writer.add_double(kNum, std::accumulate(histogram.counts.begin(), histogram.counts.end(), 0.0));
  writer.add_double(kSum, histogram.sum);
  writer.add_double(kSumSquares, histogram.sum_of_squares);
  writer.add_packed_double(kLimits, edges.begin(), edges.end());
  writer.add_packed_double(kCounts, histogram.counts.begin(), histogram.counts.end());
  return message;
}

}  // namespace

std::string histogram_summary(std::string_view tag, const Histogram& histogram) {
  constexpr protozero::pbf_tag_type kValue = 1, kTag = 1, kHistogram = 5;
  std::string summary;
  protozero::pbf_writer writer(summary);
  protozero::pbf_writer value(writer, kValue);
  value.add_string(kTag, tag.data(), tag.size());
  value.add_message(kHistogram, histogram_proto(histogram));
  return summary;
}

}  // namespace rnnlab::tensorboard
