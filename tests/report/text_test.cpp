#include "report/text.h"

#include <gtest/gtest.h>

namespace rnnlab::report {
namespace {

TEST(Readable, IsValidUtf8OnOneLine) {
  EXPECT_EQ(readable("a\nb\tc\x1b[2J\x7f"), "a b c [2J ");
  EXPECT_EQ(readable("caf\xC3\xA9 \xFF\xC3"), "caf\xC3\xA9 \xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(Readable, TurnsNoDirection) {
  EXPECT_EQ(readable("a\xE2\x80\xAE"
                     "b\xE2\x81\xA9"),
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD");
  EXPECT_EQ(readable("\xE2\x80\x93 \xE2\x81\xB0"), "\xE2\x80\x93 \xE2\x81\xB0");
}

TEST(HtmlEscaped, HoldsNoMarkup) {
  EXPECT_EQ(html_escaped("<b>\"a\" & 'b'</b>"), "&lt;b&gt;&quot;a&quot; &amp; &#39;b&#39;&lt;/b&gt;");
}

TEST(MarkdownEscaped, HoldsNoMarkup) {
  EXPECT_EQ(markdown_escaped("a|b `c` *d* [e](f) <g> & \\ train_loss"),
            "a\\|b \\`c\\` \\*d\\* \\[e\\](f) &lt;g&gt; &amp; \\\\ train_loss");
}

TEST(MarkdownEscaped, MakesNoEmphasisListLinkOrFormulaOfANameOrAPath) {
  EXPECT_EQ(markdown_escaped("_x_ num_layers a_"), "\\_x\\_ num_layers a\\_");
  EXPECT_EQ(markdown_escaped("http://a.b www.a.b $x$"), "http\\://a.b www\\.a.b \\$x\\$");
  EXPECT_EQ(markdown_escaped("- a-b"), "\\- a-b");
  EXPECT_EQ(markdown_escaped("# a"), "\\# a");
  EXPECT_EQ(markdown_escaped("12. a 1.5"), "12\\. a 1.5");
}

TEST(Slug, IsAFileNameAndAnAnchor) {
  EXPECT_EQ(slug("GRU speed/2"), "gru_speed_2");
  EXPECT_EQ(slug("../../etc/passwd"), "etc_passwd");
  EXPECT_EQ(slug("\xE6\x96\x87"), "report");
  EXPECT_EQ(slug(std::string(100, 'a')).size(), 60U);
}

TEST(CsvOf, QuotesWhatNeedsIt) {
  TextTable table;
  table.add_column("run, layer", Align::kLeft);
  table.add_column("s", Align::kRight);
  table.add_row({"a \"b\"\nc", "1"});
  EXPECT_EQ(csv_of(table), "\"run, layer\",s\n\"a \"\"b\"\"\nc\",1\n");
}

TEST(Base64, IsThatOfRfc4648) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
}

}  // namespace
}  // namespace rnnlab::report
