#include "data/readers/digit_strokes.h"

#include <array>
#include <cstddef>

#include "data/readers/random_stream.h"

namespace rnnlab {
namespace {

using Form = std::vector<Stroke>;
using Forms = std::vector<Form>;

struct Ellipse {
  Point center;
  Point radius;
};

// From one angle to another, in turns, clockwise from the right.
Stroke arc(const Ellipse& ellipse, double begin, double end) {
  constexpr int kNumSteps = 16;
  Stroke stroke;
  for (int i = 0; i <= kNumSteps; ++i) {
    const CosSin at = cos_sin(begin + (end - begin) * i / kNumSteps);
    stroke.push_back({ellipse.center.x + ellipse.radius.x * at.cos, ellipse.center.y + ellipse.radius.y * at.sin});
  }
  return stroke;
}

// Without lifting the pen.
Stroke then(Stroke first, const Stroke& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Forms zero() { return {{arc({{.5, .5}, {.34, .48}}, -.25, .75)}}; }

Forms one() {
  const Stroke flag = {{.28, .24}, {.52, .02}, {.52, .98}};
  return {{{{.5, .02}, {.5, .98}}}, {flag}, {flag, {{.28, .98}, {.76, .98}}}};
}

Forms two() {
  const Stroke top = arc({{.48, .29}, {.3, .27}}, -.47, .1);
  return {{then(top, {{.18, .97}, {.86, .97}})}, {then(top, {{.4, .72}, {.16, .93}, {.5, .88}, {.88, .97}})}};
}

Forms three() {
  const Stroke lower = arc({{.44, .72}, {.33, .26}}, -.24, .42);
  return {{then(arc({{.45, .26}, {.27, .24}}, -.42, .23), lower)}, {then({{.18, .04}, {.76, .04}, {.44, .42}}, lower)}};
}

Forms four() {
  return {{{{.32, .04}, {.16, .6}, {.86, .6}}, {{.66, .26}, {.64, .98}}},
          {{{.62, .98}, {.62, .02}, {.12, .66}, {.88, .66}}}};
}

Forms five() {
  const Stroke belly = then({{.28, .05}, {.25, .47}}, arc({{.46, .69}, {.33, .29}}, -.36, .41));
  return {{belly, {{.28, .05}, {.8, .04}}}};
}

Forms six() {
  const Stroke loop = arc({{.5, .7}, {.29, .27}}, -.5, .5);
  return {{then(arc({{.77, .66}, {.56, .64}}, -.27, -.5), loop)}, {then({{.56, .02}, {.32, .38}, {.22, .62}}, loop)}};
}

Forms seven() {
  const Stroke hook = {{.14, .05}, {.84, .05}, {.42, .98}};
  return {{hook}, {hook, {{.36, .52}, {.78, .52}}}};
}

Forms eight() { return {{arc({{.5, .26}, {.25, .24}}, .25, 1.25), arc({{.5, .73}, {.31, .25}}, -.25, .75)}}; }

Forms nine() {
  const Stroke loop = arc({{.48, .3}, {.28, .27}}, 0, -1);
  return {{then(loop, {{.76, .3}, {.68, .98}})}, {then(loop, arc({{.28, .42}, {.48, .56}}, -.02, .21))}};
}

const std::array<Forms, 10>& all_digits() {
  static const std::array<Forms, 10> digits = {zero(), one(), two(),   three(), four(),
                                               five(), six(), seven(), eight(), nine()};
  return digits;
}

}  // namespace

int64_t num_digit_forms(int64_t digit) {
  return static_cast<int64_t>(all_digits().at(static_cast<size_t>(digit)).size());
}

const std::vector<Stroke>& digit_strokes(int64_t digit, int64_t form) {
  return all_digits().at(static_cast<size_t>(digit)).at(static_cast<size_t>(form));
}

}  // namespace rnnlab
