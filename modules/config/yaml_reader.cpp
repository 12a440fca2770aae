#include "config/yaml_reader.h"

#include <fmt/format.h>
#include <yaml-cpp/anchor.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <sstream>
#include <utility>

#include "base/text.h"

namespace rnnlab::config {

namespace {

// Ends the parse; its finding is already known.
struct Refusal {
  Place place;
  std::string message;
};

class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(const PlaceOf& place_of, Findings& findings) : place_of_(place_of), findings_(findings) {}

  Value take_root() { return std::move(root_); }

  Place place(const YAML::Mark& mark) const { return place_of_(mark.line, mark.column); }

  // Where the innermost open list or map began.
  std::optional<Place> innermost(Value::Kind kind) const {
    for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame)
      if (frame->value.kind == kind) return frame->value.place;
    return std::nullopt;
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++num_documents_ > 1) throw Refusal{place(mark), "a second document begins here; only one is allowed"};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { add(make_value(Value::Kind::kNull, mark)); }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    findings_.add(place(mark), "aliases (*name) are not supported; write the value out");
    add(make_value(Value::Kind::kNull, mark));
  }

  void OnAnchor(const YAML::Mark& mark, const std::string& name) override {
    findings_.add(place(mark),
                  fmt::format("anchors (&{}) are not supported; write the value out where it is used", name));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, const std::string& text) override {
    refuse_tag(mark, tag);
    Value value = make_value(Value::Kind::kScalar, mark);
    value.style = tag == "?" ? Value::Style::kPlain : Value::Style::kQuoted;
    value.text = text;
    if (text.find('\0') != std::string::npos) findings_.add(value.place, "the text holds a NUL character");
    add(std::move(value));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    refuse_tag(mark, tag);
    open(make_value(Value::Kind::kSequence, mark));
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, YAML::EmitterStyle::value) override {
    refuse_tag(mark, tag);
    open(make_value(Value::Kind::kMap, mark));
  }
  void OnMapEnd() override { close(); }

 private:
  enum class Next { kKey, kValue, kValueToDrop };

  struct Frame {
    Value value;
    Next next = Next::kKey;  // of a map
    std::string key;
    Place key_place;
  };

  bool wants_key() const {
    return !frames_.empty() && frames_.back().value.is_map() && frames_.back().next == Next::kKey;
  }

  Value make_value(Value::Kind kind, const YAML::Mark& mark) {
    Value value;
    value.kind = kind;
    value.place = place(mark);
    if (++num_values_ > kMaxValues) throw Refusal{value.place, fmt::format("more than {} values", kMaxValues)};
    return value;
  }

  void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag == "?" || tag == "!" || tag.empty()) return;
    findings_.add(place(mark), fmt::format("tags ({}) are not supported; leave it out", quoted(tag)));
  }

  void open(Value value) {
    if (wants_key()) throw Refusal{value.place, fmt::format("{} cannot be a key", shown(value))};
    if (frames_.size() >= kMaxDepth)
      throw Refusal{value.place, fmt::format("lists and maps are nested more than {} deep", kMaxDepth)};
    frames_.push_back({std::move(value), Next::kKey, "", {}});
  }

  void close() {
    Value value = std::move(frames_.back().value);
    frames_.pop_back();
    add(std::move(value));
  }

  void add(Value value) {
    if (frames_.empty()) {
      root_ = std::move(value);
    } else if (wants_key()) {
      begin_member(value);
    } else if (frames_.back().value.is_map()) {
      end_member(std::move(value));
    } else {
      frames_.back().value.items.push_back(std::move(value));
    }
  }

  void begin_member(const Value& key) {
    Frame& frame = frames_.back();
    frame.key = key.text;
    frame.key_place = key.place;
    const std::string complaint = complaint_about_key(frame.value, key);
    if (!complaint.empty()) findings_.add(key.place, complaint);
    frame.next = complaint.empty() ? Next::kValue : Next::kValueToDrop;
  }

  static std::string complaint_about_key(const Value& map, const Value& key) {
    if (key.is_null()) return "a key is missing before ':'";
    if (key.text == "<<" && key.style == Value::Style::kPlain)
      return "merge keys (<<) are not supported; write the keys out";
    const Member* first = find_member(map, key.text);
    return first ? fmt::format("key {} is given twice (first: {})", quoted(key.text), to_string(first->key_place)) : "";
  }

  // Nothing written after a key is found at the next line, which would mislead: its place is the key's.
  void end_member(Value value) {
    Frame& frame = frames_.back();
    if (value.is_null()) value.place = frame.key_place;
    if (frame.next == Next::kValue) frame.value.members.push_back({frame.key, frame.key_place, std::move(value)});
    frame.next = Next::kKey;
  }

  const PlaceOf& place_of_;
  Findings& findings_;
  Value root_;
  std::vector<Frame> frames_;
  size_t num_values_ = 0;
  int num_documents_ = 0;
};

// yaml-cpp's messages are terse; these are the ones that people meet.
std::string explain(const std::string& message) {
  static const std::vector<std::pair<std::string, std::string>> kExplanations = {
      {"illegal map value",
       "':' cannot stand here; check the indentation (spaces, no tabs), or put quotes around the text"},
      {"illegal block entry", "a list of '- ' items must begin on a line of its own"},
      {"end of map not found", "the indentation of this line fits none above it"},
      {"end of sequence not found", "the indentation of this line fits none above it"},
      {"end of map flow not found", "this '{' has no matching '}', or lacks a ',' between its members"},
      {"end of sequence flow not found", "this '[' has no matching ']', or lacks a ',' between its items"},
      {"illegal flow end", "this closing bracket was never opened"},
      {"illegal EOF in scalar", "a quoted text has no closing quote"},
      {"illegal tab when looking for indentation", "a tab in the indentation; use spaces"},
      {"unknown token", "a value cannot begin with this character; put quotes around it"},
      {"the referenced anchor is not defined", "aliases (*name) are not supported; write the value out"},
  };
  for (const auto& [terse, explanation] : kExplanations)
    if (message.starts_with(terse)) return explanation;
  return "no valid YAML: " + message;
}

Place place_of_error(const YAML::Exception& error, const TreeBuilder& builder) {
  std::optional<Place> opened;
  if (error.msg.starts_with("end of sequence flow")) opened = builder.innermost(Value::Kind::kSequence);
  if (error.msg.starts_with("end of map flow")) opened = builder.innermost(Value::Kind::kMap);
  return opened.value_or(builder.place(error.mark));
}

}  // namespace

std::optional<Value> parse_yaml(std::string_view text, const PlaceOf& place_of, Findings& findings) {
  TreeBuilder builder(place_of, findings);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    if (parser.HandleNextDocument(builder)) parser.HandleNextDocument(builder);
    return builder.take_root();
  } catch (const Refusal& refusal) {
    findings.add(refusal.place, refusal.message);
  } catch (const YAML::Exception& error) {
    findings.add(place_of_error(error, builder), explain(error.msg));
  }
  return std::nullopt;
}

}  // namespace rnnlab::config
