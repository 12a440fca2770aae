// SPDX-License-Identifier: Apache-2.0
#include "data/readers/times.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "base/numbers.h"
#include "base/text.h"
#include "data/readers/rows.h"
#include "data/readers/time_units.h"

namespace rnnlab {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Reads a cell from left to right. A function that returns false or nothing leaves the rest as it is.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }
  char peek() const { return rest_.empty() ? '\0' : rest_.front(); }
  size_t num_digits() const { return std::min(rest_.size(), rest_.find_first_not_of("0123456789")); }

  bool eat(char c) {
    if (peek() != c || at_end()) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool eat_letter(char upper) { return eat(upper) || eat(static_cast<char>(upper - 'A' + 'a')); }

  // Returns the character that was read, or 0.
  char eat_one_of(std::string_view characters) {
    if (at_end() || characters.find(peek()) == std::string_view::npos) return '\0';
    const char c = peek();
    rest_.remove_prefix(1);
    return c;
  }

  void skip_spaces() {
    while (eat(' ')) {
    }
  }

  // Returns the number of a whole run of least .. most digits.
  std::optional<int64_t> number(size_t least, size_t most) {
    const size_t count = num_digits();
    if (count < least || count > most) return std::nullopt;
    return first_digits(count);
  }

  std::optional<int64_t> first_digits(size_t count) {
    if (num_digits() < count) return std::nullopt;
    int64_t value = 0;
    for (const char c : rest_.substr(0, count)) value = 10 * value + (c - '0');
    rest_.remove_prefix(count);
    return value;
  }

  // Returns the letters ahead in lower case.
  std::string word() const {
    size_t count = 0;
    while (count < rest_.size() && is_letter(rest_[count])) ++count;
    return lower_case(rest_.substr(0, count));
  }

  void skip(size_t count) { rest_.remove_prefix(count); }

 private:
  std::string_view rest_;
};

constexpr std::array<std::string_view, 7> kWeekdays = {"monday", "tuesday",  "wednesday", "thursday",
                                                       "friday", "saturday", "sunday"};

// Returns the place of the name that the word is, or that it shortens to at least three letters.
template <size_t N>
std::optional<int64_t> place_of(const std::string& word, const std::array<std::string_view, N>& names) {
  constexpr size_t kShortest = 3;
  const auto is_it = [&](std::string_view name) { return word.size() >= kShortest && name.starts_with(word); };
  const auto found = std::ranges::find_if(names, is_it);
  return found == names.end() ? std::nullopt : std::optional(found - names.begin());
}

std::optional<int64_t> eat_month_name(Scanner& scanner) {
  const std::string word = scanner.word();
  const auto place = word == "sept" ? std::optional<int64_t>(8) : place_of(word, kMonths);
  if (!place) return std::nullopt;
  scanner.skip(word.size());
  scanner.eat('.');
  return *place + 1;
}

std::optional<int64_t> moment(int64_t year, int64_t month, int64_t day) {
  using namespace std::chrono;
  const auto date = std::chrono::year(static_cast<int>(year)) / static_cast<int>(month) / static_cast<int>(day);
  if (month < 1 || month > 12 || day < 1 || !date.ok() || year < 1) return std::nullopt;
  return sys_days(date).time_since_epoch().count() * kDay;
}

// Years of two digits are from 1970 to 2069.
int64_t whole_year(int64_t year, size_t num_digits) {
  if (num_digits == 4) return year;
  return year >= 70 ? 1900 + year : 2000 + year;
}

std::optional<int64_t> week_of(int64_t year, int64_t week, int64_t weekday) {
  if (week < 1 || week > 53 || weekday < 1 || weekday > 7) return std::nullopt;
  const int64_t fourth = moment(year, 1, 4).value_or(0);  // in the first week of its year
  const int64_t day = fourth / kDay, since_monday = ((day + 3) % 7 + 7) % 7;
  return (day - since_monday + 7 * (week - 1) + weekday - 1) * kDay;
}

std::optional<int64_t> quarter_of(int64_t year, std::optional<int64_t> quarter) {
  if (!quarter || *quarter < 1 || *quarter > 4) return std::nullopt;
  return moment(year, 3 * *quarter - 2, 1);
}

// Reads a fraction of a second, after its point.
std::optional<int64_t> microseconds(Scanner& scanner) {
  constexpr size_t kDigits = 6, kMostDigits = 12;
  const size_t count = scanner.num_digits();
  if (count == 0 || count > kMostDigits) return std::nullopt;
  int64_t value = *scanner.first_digits(std::min(count, kDigits));
  for (size_t i = count; i < kDigits; ++i) value *= 10;
  scanner.skip(count - std::min(count, kDigits));
  return value;
}

// Applies "am" or "pm", if they are there, to the hour.
std::optional<int64_t> hour_of_half(Scanner& scanner, int64_t hour) {
  constexpr int64_t kHalf = 12;
  scanner.skip_spaces();
  const std::string word = scanner.word();
  if (word != "am" && word != "pm") return hour > 24 ? std::nullopt : std::optional(hour);
  scanner.skip(word.size());
  if (hour < 1 || hour > kHalf) return std::nullopt;
  return hour % kHalf + (word == "pm" ? kHalf : 0);
}

// Reads 13:45, 13:45:10.5 or 1:45 pm.
std::optional<int64_t> time_of_day(Scanner& scanner) {
  constexpr int64_t kSixty = 60;
  const auto hour = scanner.number(1, 2);
  if (!hour || !scanner.eat(':')) return std::nullopt;
  const auto minute = scanner.number(2, 2);
  if (!minute || *minute >= kSixty) return std::nullopt;
  int64_t second = 0, fraction = 0;
  if (scanner.eat(':')) {
    const auto read = scanner.number(2, 2);
    if (!read || *read > kSixty) return std::nullopt;
    second = *read;
    if (scanner.eat_one_of(".,") != '\0') {
      const auto part = microseconds(scanner);
      if (!part) return std::nullopt;
      fraction = *part;
    }
  }
  const auto whole_hour = hour_of_half(scanner, *hour);
  if (!whole_hour) return std::nullopt;
  return *whole_hour * kHour + *minute * kMinute + second * kSecond + fraction;
}

// Reads a zone, if there is one, to the end of the cell. Returns how far its clock is ahead of UTC.
std::optional<int64_t> zone(Scanner& scanner) {
  scanner.skip_spaces();
  if (scanner.at_end()) return 0;
  const std::string word = scanner.word();
  if (word == "z" || word == "utc" || word == "gmt") scanner.skip(word.size());
  if (scanner.at_end()) return 0;
  const char sign = scanner.eat_one_of("+-");
  if (sign == '\0') return std::nullopt;
  const size_t count = scanner.num_digits();
  if (count != 2 && count != 4) return std::nullopt;
  const int64_t hours = *scanner.first_digits(2);
  if (count == 2) scanner.eat(':');
  const int64_t minutes = scanner.at_end() ? 0 : scanner.number(2, 2).value_or(-1);
  if (minutes < 0 || !scanner.at_end()) return std::nullopt;
  return (sign == '-' ? -1 : 1) * (hours * kHour + minutes * kMinute);
}

// Reads the time of the day after a date, if there is one, and the zone.
std::optional<int64_t> with_time_of_day(Scanner& scanner, std::optional<int64_t> date) {
  if (!date) return std::nullopt;
  scanner.eat(',');
  const bool is_marked = scanner.eat_letter('T');
  scanner.skip_spaces();
  if (scanner.at_end()) return is_marked ? std::nullopt : date;
  int64_t since_midnight = 0;
  if (const size_t count = scanner.num_digits(); is_marked && (count == 6 || count == 4)) {
    since_midnight = *scanner.first_digits(2) * kHour;
    since_midnight += *scanner.first_digits(2) * kMinute;
    if (count == 6) since_midnight += *scanner.first_digits(2) * kSecond;
  } else if (is_digit(scanner.peek())) {
    const auto time = time_of_day(scanner);
    if (!time) return std::nullopt;
    since_midnight = *time;
  }
  const auto ahead = zone(scanner);
  return ahead ? std::optional(*date + since_midnight - *ahead) : std::nullopt;
}

// Returns the first moment of a period if the cell ends here.
std::optional<int64_t> at_end(const Scanner& scanner, std::optional<int64_t> period) {
  return scanner.at_end() ? period : std::nullopt;
}

std::optional<int64_t> week_after_year(Scanner& scanner, int64_t year) {
  const size_t count = scanner.num_digits();
  if (count == 3) {  // 2024W051
    const int64_t week = *scanner.first_digits(2), weekday = *scanner.first_digits(1);
    return at_end(scanner, week_of(year, week, weekday));
  }
  const auto week = scanner.number(1, 2);
  if (!week) return std::nullopt;
  const int64_t weekday = scanner.eat('-') ? scanner.number(1, 1).value_or(0) : 1;
  return at_end(scanner, week_of(year, *week, weekday));
}

// Reads what follows a year of four digits and its separator, which is 0 if it is missing.
std::optional<int64_t> after_year(Scanner& scanner, int64_t year, char separator) {
  if (scanner.eat_letter('Q')) return at_end(scanner, quarter_of(year, scanner.number(1, 2)));
  if (scanner.eat_letter('W')) return week_after_year(scanner, year);
  if (is_letter(scanner.peek()) && scanner.word() == "m") {
    scanner.skip(1);
    return at_end(scanner, moment(year, scanner.number(1, 2).value_or(0), 1));
  }
  if (separator == '\0') return std::nullopt;
  const auto month = is_letter(scanner.peek()) ? eat_month_name(scanner) : scanner.number(1, 2);
  if (!month) return std::nullopt;
  if (scanner.at_end()) return separator == '.' ? std::nullopt : moment(year, *month, 1);  // 1970.5 is a number
  if (scanner.eat_one_of(std::string_view(&separator, 1)) == '\0') return std::nullopt;
  const auto day = scanner.number(1, 2);
  return day ? with_time_of_day(scanner, moment(year, *month, *day)) : std::nullopt;
}

std::optional<int64_t> year_after_month(Scanner& scanner, int64_t month, int64_t day) {
  const size_t count = scanner.num_digits();
  if (count != 2 && count != 4) return std::nullopt;
  const int64_t year = whole_year(*scanner.first_digits(count), count);
  return with_time_of_day(scanner, moment(year, month, day));
}

// Reads a date that begins with its day or its month.
std::optional<int64_t> after_short_number(Scanner& scanner, int64_t first, DateOrder order) {
  const char separator = scanner.eat_one_of("/-. ");
  if (is_letter(scanner.peek())) {
    const auto month = eat_month_name(scanner);
    scanner.eat_one_of("-/, ");
    return month ? year_after_month(scanner, *month, first) : std::nullopt;
  }
  if (separator == '\0' || separator == ' ') return std::nullopt;
  if (scanner.num_digits() == 4 && separator != '.') {
    const int64_t year = *scanner.first_digits(4);
    return at_end(scanner, moment(year, first, 1));
  }
  const auto second = scanner.number(1, 2);
  if (!second || scanner.eat_one_of(std::string_view(&separator, 1)) == '\0') return std::nullopt;
  const bool is_day_first = order == DateOrder::kDayFirst || separator == '.';
  return year_after_month(scanner, is_day_first ? *second : first, is_day_first ? first : *second);
}

std::optional<int64_t> after_word(Scanner& scanner, DateOrder order);

std::optional<int64_t> date_in(Scanner& scanner, DateOrder order) {
  if (!is_digit(scanner.peek())) return after_word(scanner, order);
  const size_t count = scanner.num_digits();
  if (count == 8) {
    const int64_t year = *scanner.first_digits(4), month = *scanner.first_digits(2), day = *scanner.first_digits(2);
    return scanner.at_end() ? std::nullopt : with_time_of_day(scanner, moment(year, month, day));
  }
  if (count == 4) {
    const int64_t year = *scanner.first_digits(4);
    return after_year(scanner, year, scanner.eat_one_of("-/. "));
  }
  if (count > 2) return std::nullopt;
  const int64_t first = *scanner.first_digits(count);
  return after_short_number(scanner, first, order);
}

// Reads "Q1 1970", "Jan 5, 1970", "Jan 1970" and "Mon, 5 Jan 1970".
std::optional<int64_t> after_word(Scanner& scanner, DateOrder order) {
  const std::string word = scanner.word();
  if (word == "q") {
    scanner.skip(1);
    const auto quarter = scanner.number(1, 1);
    scanner.eat_one_of("-/ ");
    const auto year = scanner.number(4, 4);
    return year ? at_end(scanner, quarter_of(*year, quarter)) : std::nullopt;
  }
  if (place_of(word, kWeekdays)) {
    scanner.skip(word.size());
    scanner.eat(',');
    scanner.skip_spaces();
    return is_digit(scanner.peek()) || place_of(scanner.word(), kMonths) ? date_in(scanner, order) : std::nullopt;
  }
  const auto month = eat_month_name(scanner);
  if (!month) return std::nullopt;
  scanner.eat_one_of("-/, ");
  if (scanner.num_digits() == 4) {
    const int64_t year = *scanner.first_digits(4);
    return at_end(scanner, moment(year, *month, 1));
  }
  const auto number = scanner.number(1, 2);
  if (!number) return std::nullopt;
  if (scanner.at_end()) return moment(whole_year(*number, 2), *month, 1);  // Jan-70
  scanner.eat(',');
  scanner.eat_one_of("-/ ");
  return year_after_month(scanner, *month, *number);
}

}  // namespace

std::optional<int64_t> parse_time(std::string_view cell, DateOrder order) {
  constexpr size_t kShortest = 5, kLongest = 48;
  if (cell.size() < kShortest || cell.size() > kLongest) return std::nullopt;
  Scanner scanner(cell);
  return date_in(scanner, order);
}

std::optional<int64_t> parse_time_of_day(std::string_view cell) {
  Scanner scanner(cell);
  const auto time = time_of_day(scanner);
  return scanner.at_end() ? time : std::nullopt;
}

namespace {

std::vector<std::string> words_in_name(std::string_view name) {
  std::string lower = lower_case(name);
  std::ranges::replace_if(
      lower, [](char c) { return c < 'a' || c > 'z'; }, ' ');
  return split(lower, ' ');
}

bool has_word(std::string_view name, std::span<const std::string_view> known) {
  const std::vector<std::string> words = words_in_name(name);
  return std::ranges::any_of(known, [&](std::string_view word) { return std::ranges::count(words, word) > 0; });
}

}  // namespace

bool is_name_of_time(std::string_view name) {
  constexpr std::string_view kNames[] = {"date",  "time",  "datetime", "timestamp", "timestamps",
                                         "times", "dates", "epoch",    "ds",        "unixtime"};
  return has_word(name, kNames);
}

namespace {

using Cells = std::vector<std::string_view>;

Cells cells_of(const CsvTable& table, int64_t column) {
  Cells cells;
  cells.reserve(static_cast<size_t>(table.num_rows()));
  for (int64_t row = 0; row < table.num_rows(); ++row) cells.push_back(table.value(row, column));
  return cells;
}

template <class Parse>
std::optional<std::vector<int64_t>> all_parsed(const Cells& cells, const Parse& parse) {
  std::vector<int64_t> times;
  times.reserve(cells.size());
  for (const std::string_view cell : cells) {
    const std::optional<int64_t> time = parse(cell);
    if (!time) return std::nullopt;
    times.push_back(*time);
  }
  return times;
}

double way_of(std::span<const int64_t> times) {
  double way = 0;
  for (size_t i = 1; i < times.size(); ++i) way += std::abs(static_cast<double>(times[i] - times[i - 1]));
  return way;
}

// Returns how many rows are not one usual step after the row before.
int64_t num_irregular(std::span<const int64_t> times) {
  const TimeSteps steps = examine_times(times);
  return steps.num_backwards + steps.num_gaps + steps.num_short;
}

struct WrittenTimes {
  std::vector<int64_t> times;
  std::optional<DateOrder> order;  // ColumnTimes::order
};

// If both orders of day and month give dates, the rows are taken to follow each other regularly; if they do so in both,
// to lie close together. The first days of all months would be the first days of January by the other order.
std::optional<WrittenTimes> written_times(const Cells& cells, std::optional<DateOrder> wanted) {
  auto by_month = all_parsed(cells, [](std::string_view cell) { return parse_time(cell, DateOrder::kMonthFirst); });
  auto by_day = all_parsed(cells, [](std::string_view cell) { return parse_time(cell, DateOrder::kDayFirst); });
  const auto in_order = [&](DateOrder order) {
    return WrittenTimes{std::move(order == DateOrder::kDayFirst ? *by_day : *by_month), order};
  };
  if (!by_month && !by_day) return std::nullopt;
  if (!by_month || !by_day) return in_order(by_month ? DateOrder::kMonthFirst : DateOrder::kDayFirst);
  if (*by_month == *by_day) return WrittenTimes{std::move(*by_month), std::nullopt};
  if (wanted) return in_order(*wanted);
  const int64_t irregular_by_day = num_irregular(*by_day), irregular_by_month = num_irregular(*by_month);
  const bool is_by_day = irregular_by_day != irregular_by_month ? irregular_by_day < irregular_by_month
                                                                : way_of(*by_day) < way_of(*by_month);
  return in_order(is_by_day ? DateOrder::kDayFirst : DateOrder::kMonthFirst);
}

// Returns the time of 20240131, or of 20240131123000.
std::optional<int64_t> time_of_digits(std::string_view cell) {
  constexpr size_t kDate = 8, kWithTime = 14;
  Scanner scanner(cell);
  const size_t count = scanner.num_digits();
  if (count != cell.size() || (count != kDate && count != kWithTime)) return std::nullopt;
  const int64_t year = *scanner.first_digits(4), month = *scanner.first_digits(2), day = *scanner.first_digits(2);
  const auto date = moment(year, month, day);
  if (!date || year < 1800 || year > 2200 || count == kDate) return year < 1800 || year > 2200 ? std::nullopt : date;
  const int64_t hour = *scanner.first_digits(2), minute = *scanner.first_digits(2), second = *scanner.first_digits(2);
  return *date + hour * kHour + minute * kMinute + second * kSecond;
}

// Returns the time of a number of seconds, milliseconds, microseconds or nanoseconds since 1970, from 1973 to 2200.
std::optional<int64_t> time_since_1970(std::string_view cell) {
  const std::optional<double> number = parse_double(cell);
  constexpr double kFirst = 1e8, kLast = 7.3e9, kThousand = 1e3;
  if (!number) return std::nullopt;
  double seconds = *number;
  for (int i = 0; i < 4; ++i, seconds /= kThousand)
    if (seconds >= kFirst && seconds < kLast) return std::llround(seconds * static_cast<double>(kSecond));
  return std::nullopt;
}

std::optional<int64_t> time_of_year(std::string_view cell) {
  const std::optional<double> year = parse_double(cell);
  if (!year || *year != std::trunc(*year) || *year < 1500 || *year > 2500) return std::nullopt;
  return moment(static_cast<int64_t>(*year), 1, 1);
}

// Returns the time of a number of days as spreadsheets count them, from 1924 to 2119: 45292 is 2024-01-01.
std::optional<int64_t> time_of_spreadsheet(std::string_view cell) {
  constexpr double kFirst = 9'000, kLast = 80'000, kOf1970 = 25'569;
  const std::optional<double> days = parse_double(cell);
  if (!days || *days < kFirst || *days >= kLast) return std::nullopt;
  return std::llround((*days - kOf1970) * static_cast<double>(kDay));
}

bool is_name_of_date(std::string_view name) {
  constexpr std::string_view kNames[] = {"date", "dates", "datetime", "day"};
  return has_word(name, kNames);
}

bool is_name_of_year(std::string_view name) {
  constexpr std::string_view kNames[] = {"year", "years", "yr"};
  return has_word(name, kNames);
}

// Other numbers than 20240131 are times only in a column that is named as a time.
std::optional<std::vector<int64_t>> numbered_times(const Cells& cells, const std::string& name) {
  if (auto times = all_parsed(cells, time_of_digits)) return times;
  if (is_name_of_time(name))
    if (auto times = all_parsed(cells, time_since_1970)) return times;
  if (is_name_of_date(name))
    if (auto times = all_parsed(cells, time_of_spreadsheet)) return times;
  return is_name_of_time(name) || is_name_of_year(name) ? all_parsed(cells, time_of_year) : std::nullopt;
}

bool may_be_time(std::string_view cell, const std::string& name) {
  return parse_time(cell, DateOrder::kMonthFirst) || parse_time(cell, DateOrder::kDayFirst) ||
         numbered_times({cell}, name);
}

bool begins_with_times(const Cells& cells, const std::string& name, const CsvOptions& options) {
  constexpr int64_t kFirst = 3;
  int64_t count = 0;
  for (auto cell = cells.begin(); cell != cells.end() && count < kFirst; ++cell) {
    if (is_missing(*cell, options)) continue;
    if (!may_be_time(*cell, name)) return false;
    ++count;
  }
  return count > 0;
}

// Returns the row of the first cell that is not a time. If each cell is one in some form, the forms differ.
int64_t first_wrong_row(const Cells& cells, const std::string& name) {
  for (size_t row = 0; row < cells.size(); ++row)
    if (!may_be_time(cells[row], name)) return static_cast<int64_t>(row);
  for (size_t row = 0; row < cells.size(); ++row)
    if (!parse_time(cells[row], DateOrder::kMonthFirst)) return static_cast<int64_t>(row);
  return 0;
}

bool are_whole_days(std::span<const int64_t> times) {
  return std::ranges::all_of(times, [](int64_t time) { return time % kDay == 0; });
}

std::optional<int64_t> time_of_hour(std::string_view cell) {
  const std::optional<double> hour = parse_double(cell);
  return hour && *hour >= 0 && *hour <= 24 ? std::optional(std::llround(*hour * static_cast<double>(kHour)))
                                           : std::nullopt;
}

// Returns the times of the day in another column.
std::optional<std::vector<int64_t>> times_of_day(const CsvTable& table, int64_t date) {
  constexpr std::string_view kHours[] = {"hour", "hr", "hours"};
  for (int64_t column = 0; column < table.num_columns(); ++column) {
    if (column == date) continue;
    const bool is_hour = has_word(table.column_name(column), kHours);
    const std::string_view first = table.value(0, column);
    if (!is_hour && !parse_time_of_day(first)) continue;
    if (auto times = all_parsed(cells_of(table, column), parse_time_of_day)) return times;
    if (!is_hour) continue;
    if (auto times = all_parsed(cells_of(table, column), time_of_hour)) return times;
  }
  return std::nullopt;
}

// Returns the integers of the first column whose name has one of these words, if all are from 1 to `most`.
std::optional<std::vector<int64_t>> part_of_date(const CsvTable& table, std::span<const std::string_view> words,
                                                 int64_t most) {
  for (int64_t column = 0; column < table.num_columns(); ++column) {
    if (!has_word(table.column_name(column), words)) continue;
    const auto part = all_parsed(cells_of(table, column), [most](std::string_view cell) -> std::optional<int64_t> {
      const std::optional<double> number = parse_double(cell);
      if (!number || *number != std::trunc(*number) || *number < 1 || *number > static_cast<double>(most))
        return std::nullopt;
      return static_cast<int64_t>(*number);
    });
    if (part) return part;
  }
  return std::nullopt;
}

int64_t year_of(int64_t time) {
  const auto days = std::chrono::sys_days(std::chrono::days(time / kDay - (time % kDay < 0 ? 1 : 0)));
  return static_cast<int>(std::chrono::year_month_day(days).year());
}

// Years may have their months or quarters, and these their days, in other columns.
void add_parts_of_year(std::vector<int64_t>& times, const CsvTable& table) {
  constexpr std::string_view kMonthNames[] = {"month", "mon"}, kQuarterNames[] = {"quarter", "qtr"},
                             kDayNames[] = {"day", "dom"};
  constexpr int64_t kMostMonths = 12, kMostQuarters = 4, kMostDays = 31;
  auto months = part_of_date(table, kMonthNames, kMostMonths);
  const auto days = months ? part_of_date(table, kDayNames, kMostDays) : std::nullopt;
  if (const auto quarters = part_of_date(table, kQuarterNames, kMostQuarters); !months && quarters) {
    months = quarters;
    for (int64_t& month : *months) month = 3 * month - 2;
  }
  for (size_t row = 0; months && row < times.size(); ++row)
    times[row] = moment(year_of(times[row]), (*months)[row], days ? (*days)[row] : 1).value_or(times[row]);
}

// Dates that repeat are those of several times of a day, if another column has these.
void add_times_of_day(std::vector<int64_t>& times, const CsvTable& table, int64_t column) {
  if (!are_whole_days(times) || !has_repeated(times)) return;
  const auto of_day = times_of_day(table, column);
  for (size_t row = 0; of_day && row < times.size(); ++row) times[row] += (*of_day)[row];
}

// Returns whether the first cell that is not missing is a date in digits.
bool begins_with_digits(const Cells& cells, const CsvOptions& options) {
  const auto first = std::ranges::find_if(cells, [&](std::string_view cell) { return !is_missing(cell, options); });
  return first != cells.end() && time_of_digits(*first).has_value();
}

}  // namespace

std::optional<ColumnTimes> times_of_column(const CsvTable& table, int64_t column, std::optional<DateOrder> order) {
  const std::string& name = table.column_name(column);
  if (table.num_rows() == 0) return std::nullopt;
  const Cells cells = cells_of(table, column);
  if (!begins_with_times(cells, name, table.options())) return std::nullopt;
  auto written = written_times(cells, order);
  auto times = written ? std::optional(std::move(written->times)) : numbered_times(cells, name);
  const bool are_hardly_inputs = is_name_of_time(name) || begins_with_digits(cells, table.options());
  if (!times) return ColumnTimes{{}, first_wrong_row(cells, name), {}, are_hardly_inputs};
  if (is_name_of_year(name)) add_parts_of_year(*times, table);
  add_times_of_day(*times, table, column);
  return ColumnTimes{std::move(*times), {}, written ? written->order : std::nullopt, are_hardly_inputs};
}

}  // namespace rnnlab
