#include "base/yaml_documents.h"

#include <gtest/gtest.h>

namespace pinion {
namespace {

struct SplitCase {
  const char* name;
  const char* text;
  const char* documents;  // "LINE:TEXT" of each, with / for a line's end
};

TEST(YamlDocuments, AreSplitAtTheirMarkers) {
  for (const SplitCase& one : {SplitCase{"none", "", ""}, SplitCase{"comments", "# a\n\n", ""},
                               SplitCase{"one", "a: 1\nb: 2", "1:a: 1/b: 2 "},
                               SplitCase{"one with a marker", "# c\n---\na: 1\n", "2:---/a: 1/ "},
                               SplitCase{"two", "a\n---\nb\n", "1:a/ 2:---/b/ "},
                               SplitCase{"ended", "a\n...\nb\n", "1:a/.../ 3:b/ "},
                               SplitCase{"ended once", "a\n...\n# c\n", "1:a/.../ "},
                               SplitCase{"text on the marker", "--- a\n--- b", "1:--- a/ 2:--- b "},
                               SplitCase{"a directive", "%YAML 1.2\n---\na\n", "2:---/a/ "},
                               SplitCase{"no marker", "a: |\n  ---\n---b\n", "1:a: |/  ---/---b/ "},
                               SplitCase{"Windows", "a\r\n---\r\nb", "1:a\r/ 2:---\r/b "}}) {
    std::string found;
    for (const YamlDocument& document : yaml_documents(one.text)) {
      found += std::to_string(document.line) + ":";
      for (const char c : document.text) found += c == '\n' ? '/' : c;
      found += ' ';
    }
    EXPECT_EQ(found, one.documents) << one.name;
  }
}

TEST(YamlDocuments, KeepTheirLinesAlone) {
  EXPECT_EQ(alone(yaml_documents("a\n---\nb\n").at(1)), "\n---\nb\n");
}

}  // namespace
}  // namespace pinion
