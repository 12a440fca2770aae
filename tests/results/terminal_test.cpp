#include "results/terminal.h"

#include <gtest/gtest.h>

#include <map>

namespace rnnlab {
namespace {

GetVariable variables(const std::map<std::string, std::string>& values) {
  return [=](const char* name) { return values.contains(name) ? values.at(name) : std::string(); };
}

TEST(Terminal, HasColorsUnlessNoColorIsSet) {
  EXPECT_TRUE(terminal_from(Tty::kYes, 120, variables({{"TERM", "xterm"}})).has_color);
  const Terminal plain = terminal_from(Tty::kYes, 120, variables({{"TERM", "xterm"}, {"NO_COLOR", "1"}}));
  EXPECT_TRUE(plain.is_terminal);
  EXPECT_FALSE(plain.has_color);
}

TEST(Terminal, IsNoneForAPipeOrADumbOne) {
  for (const Terminal& terminal :
       {terminal_from(Tty::kNo, 0, variables({{"TERM", "xterm"}})),
        terminal_from(Tty::kYes, 80, variables({{"TERM", "dumb"}})), terminal_from(Tty::kYes, 80, variables({}))}) {
    EXPECT_FALSE(terminal.is_terminal);
    EXPECT_FALSE(terminal.has_color);
  }
}

TEST(Terminal, TakesItsWidthFromTheSystemThenColumnsThen80) {
  EXPECT_EQ(terminal_from(Tty::kYes, 120, variables({{"COLUMNS", "50"}})).width, 120u);
  EXPECT_EQ(terminal_from(Tty::kYes, 0, variables({{"COLUMNS", "50"}})).width, 50u);
  EXPECT_EQ(terminal_from(Tty::kYes, 0, variables({{"COLUMNS", "-5"}})).width, 80u);
  EXPECT_EQ(terminal_from(Tty::kYes, 0, variables({{"COLUMNS", "many"}})).width, 80u);
}

}  // namespace
}  // namespace rnnlab
