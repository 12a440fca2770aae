// Colours that people who see few colours tell apart too (after Okabe and Ito, 2008), each with a contrast of 3 to 1 at
// least to white. page/charts.js has the same ones for the page.
#pragma once

#include <array>
#include <string_view>

namespace rnnlab::report {

inline constexpr std::array<std::string_view, 8> kPalette = {"#0072b2", "#c94f00", "#007a5e", "#a8447f",
                                                             "#7d6608", "#4f46b8", "#555d66", "#b3261e"};
inline constexpr std::string_view kGainColor = "#007a5e";
inline constexpr std::string_view kLossColor = "#b3261e";

}  // namespace rnnlab::report
