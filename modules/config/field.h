// How a C++ member becomes scalars and back, and Field<V>, the handle by which a schema states what a member may hold.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/enum_names.h"
#include "config/spec.h"

namespace rnnlab::config {

// The upper bound of every count: more than any run has, and so small that the product of two counts fits into int64_t.
inline constexpr int64_t kMostCounted = 1'000'000'000;

// The upper bound of every number that becomes a float32, whose largest is 3.4e38.
inline constexpr double kMostFloat = 1e38;

template <class E>
concept SettingInteger = std::integral<E> && !std::same_as<E, bool>;

template <class E>
concept SettingScalar = std::same_as<E, bool> || SettingInteger<E> || std::same_as<E, double> ||
    std::same_as<E, std::string> || NamedEnum<E>;

// What a member of type V holds: one Element, perhaps one, or any number.
template <class V>
struct Shape {
  using Element = V;
  static constexpr Arity kArity = Arity::kOne;
};
template <class E>
struct Shape<std::optional<E>> {
  using Element = E;
  static constexpr Arity kArity = Arity::kOptional;
};
template <class E>
struct Shape<std::vector<E>> {
  using Element = E;
  static constexpr Arity kArity = Arity::kList;
};

template <SettingScalar E>
constexpr ScalarKind scalar_kind() {
  if constexpr (std::same_as<E, bool>)
    return ScalarKind::kBool;
  else if constexpr (NamedEnum<E>)
    return ScalarKind::kChoice;
  else if constexpr (SettingInteger<E>)
    return ScalarKind::kInteger;
  else if constexpr (std::same_as<E, double>)
    return ScalarKind::kNumber;
  else
    return ScalarKind::kText;
}

template <SettingScalar E>
Scalar to_scalar(const E& value) {
  if constexpr (NamedEnum<E>)
    return std::string(name_of(value));
  else if constexpr (SettingInteger<E>)
    return static_cast<int64_t>(value);
  else
    return value;
}

template <SettingScalar E>
E from_scalar(const Scalar& scalar) {
  if constexpr (NamedEnum<E>)
    return *from_name<E>(std::get<std::string>(scalar));
  else if constexpr (SettingInteger<E>)
    return static_cast<E>(std::get<int64_t>(scalar));
  else
    return std::get<E>(scalar);
}

template <class V>
std::vector<Scalar> to_scalars(const V& value) {
  using Element = typename Shape<V>::Element;
  std::vector<Scalar> scalars;
  if constexpr (Shape<V>::kArity == Arity::kOne)
    scalars.push_back(to_scalar<Element>(value));
  else if constexpr (Shape<V>::kArity == Arity::kList)
    for (const Element& item : value) scalars.push_back(to_scalar<Element>(item));
  else if (value)
    scalars.push_back(to_scalar<Element>(*value));
  return scalars;
}

template <class V>
V from_scalars(const std::vector<Scalar>& scalars) {
  using Element = typename Shape<V>::Element;
  if constexpr (Shape<V>::kArity == Arity::kOne) {
    return from_scalar<Element>(scalars.at(0));
  } else if constexpr (Shape<V>::kArity == Arity::kOptional) {
    return scalars.empty() ? V{} : V{from_scalar<Element>(scalars[0])};
  } else {
    V list;
    for (const Scalar& scalar : scalars) list.push_back(from_scalar<Element>(scalar));
    return list;
  }
}

// States what a member may hold, in a chain: schema.field(...).unit("samples").at_least(1). Bounds and conditions hold
// for each item of a list, and for the value of an optional where there is one.
template <class V>
class Field {
 public:
  using Element = typename Shape<V>::Element;
  static_assert(SettingScalar<Element>,
                "a setting is a bool, an integer, a double, a std::string, an enum with EnumNames, or a std::vector or "
                "std::optional of these");

  explicit Field(FieldSpec& spec) : spec_(spec) {}

  Field& unit(std::string text) {
    spec_.unit = std::move(text);
    return *this;
  }
  Field& at_least(Element limit) { return bound(spec_.lower, limit, Bound::Limit::kIncluded); }
  Field& above(Element limit) { return bound(spec_.lower, limit, Bound::Limit::kExcluded); }
  Field& at_most(Element limit) { return bound(spec_.upper, limit, Bound::Limit::kIncluded); }
  Field& below(Element limit) { return bound(spec_.upper, limit, Bound::Limit::kExcluded); }

  // A word for a number outside of the bounds, which the program reads as it likes: or_word("all", 0).
  Field& or_word(std::string word, Element number) requires SettingInteger<Element> {
    const Scalar as_text = word, as_number = to_scalar<Element>(number);
    spec_.get = [get = spec_.get, as_text, as_number](const void* object) {
      std::vector<Scalar> scalars = get(object);
      std::replace(scalars.begin(), scalars.end(), as_number, as_text);
      return scalars;
    };
    spec_.set = [set = spec_.set, as_text, as_number](void* object, std::vector<Scalar> scalars) {
      std::replace(scalars.begin(), scalars.end(), as_text, as_number);
      set(object, scalars);
    };
    spec_.word = std::move(word);
    return *this;
  }

  // No empty text; for a list: at least one item.
  Field& not_empty() {
    spec_.emptiness = FieldSpec::Emptiness::kRefused;
    return *this;
  }

  // A rule of the field's own: where("auto, cpu, cuda or cuda:N", is_device_name). Help shows `expected` too.
  template <std::predicate<const Element&> Holds>
  Field& where(std::string expected, Holds holds) {
    spec_.conditions.push_back(
        {std::move(expected), [holds](const Scalar& scalar) { return holds(from_scalar<Element>(scalar)); }});
    return *this;
  }

 private:
  Field& bound(std::optional<Bound>& side, Element value, Bound::Limit limit) {
    static_assert(SettingInteger<Element> || std::same_as<Element, double>, "only numbers have bounds");
    side = Bound{to_scalar<Element>(value), limit};
    return *this;
  }

  FieldSpec& spec_;
};

// The field of a member, with the limits of its type where that is narrower than int64_t.
template <class T, class V>
FieldSpec make_field_spec(V T::*member) {
  using Element = typename Shape<V>::Element;
  FieldSpec spec;
  spec.kind = scalar_kind<Element>();
  spec.arity = Shape<V>::kArity;
  if constexpr (NamedEnum<Element>) spec.choices = names_of<Element>();
  if constexpr (SettingInteger<Element>) {
    using Limits = std::numeric_limits<Element>;
    if (std::cmp_greater(Limits::min(), std::numeric_limits<int64_t>::min()))
      spec.lower = Bound{static_cast<int64_t>(Limits::min()), Bound::Limit::kIncluded};
    if (std::cmp_less(Limits::max(), std::numeric_limits<int64_t>::max()))
      spec.upper = Bound{static_cast<int64_t>(Limits::max()), Bound::Limit::kIncluded};
  }
  spec.get = [member](const void* object) { return to_scalars<V>(static_cast<const T*>(object)->*member); };
  spec.set = [member](void* object, const std::vector<Scalar>& scalars) {
    static_cast<T*>(object)->*member = from_scalars<V>(scalars);
  };
  return spec;
}

}  // namespace rnnlab::config
