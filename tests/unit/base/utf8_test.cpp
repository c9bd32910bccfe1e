#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace pinion {
namespace {

TEST(Utf8, CleanText) {
  const std::string bad(kReplacement);
  struct Case {
    const char* name;
    std::string text;
    std::string want;
  };
  const Case cases[] = {
      {"empty", "", ""},
      {"of one to four bytes", "a ä € 😀", "a ä € 😀"},
      {"cut character", "gr\xC3", "gr" + bad},
      {"lead before ASCII", "\xE2z", bad + "z"},
      {"lone continuation", "a\x80z", "a" + bad + "z"},
      {"overlong", "\xC0\xAF\xE0\x80\xAF\xF0\x80\x80\xAF",
       bad + bad + bad + bad + bad + bad + bad + bad + bad},
      {"surrogate", "\xED\xA0\x80", bad + bad + bad},
      {"last before surrogates", "\xED\x9F\xBF", "\xED\x9F\xBF"},
      {"above the last one", "\xF4\x90\x80\x80\xF5\xFF", bad + bad + bad + bad + bad + bad},
      {"last one", "\xF4\x8F\xBF\xBF", "\xF4\x8F\xBF\xBF"},
      {"zero byte", std::string("a\0b", 3), "a" + bad + "b"},
      {"newline, tab, escape and delete", "a\n\t\x1B\x7F", "a" + bad + bad + bad + bad},
      {"separators of lines, directions, and those beside them",
       "\u2027\u2028\u202E\u202F\u2065\u2066\u2069\u206A",
       "\u2027" + bad + bad + "\u202F\u2065" + bad + bad + "\u206A"},
      {"first and last of C1, and the next", "\xC2\x80\xC2\x9F\xC2\xA0", bad + bad + "\xC2\xA0"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(clean_text(c.text), c.want);
    EXPECT_EQ(clean_text(c.want), c.want);
  }
}

TEST(Utf8, CutsBetweenCharacters) {
  EXPECT_EQ(cut_utf8("abc", 3), "abc");
  EXPECT_EQ(cut_utf8("abc", 2), "ab");
  EXPECT_EQ(cut_utf8("a€b", 4), "a€");
  for (const std::size_t limit : {1U, 2U, 3U}) EXPECT_EQ(cut_utf8("a€b", limit), "a") << limit;
  EXPECT_EQ(cut_utf8("€", 0), "");
}

TEST(Utf8, QuotedValueIsCleanAndCutBetweenCharacters) {
  EXPECT_EQ(quoted_value("a\nb"), "'a" + std::string(kReplacement) + "b'");
  EXPECT_EQ(quoted_value(std::string(63, 'x') + "ä"), "'" + std::string(63, 'x') + "'");
}

}  // namespace
}  // namespace pinion
