#include "base/cli/yaml_entry.h"

#include <gtest/gtest.h>

namespace pinion {
namespace {

Result<std::string> read(const std::string& text) {
  return read_yaml(text, [](const YAML::Node& root) -> Result<std::string> {
    if (!root.IsScalar()) return yaml_error(root, "not a word");
    return root.Scalar();
  });
}

std::string error_of(const std::string& text) {
  const auto done = read(text);
  return done ? "none" : done.error().text;
}

TEST(ReadYaml, ReadsATextOfOneDocument) {
  EXPECT_EQ(read("# c\n---\na\n...\n# c\n").value_or("none"), "a");
}

TEST(ReadYaml, NamesTheLine) {
  EXPECT_EQ(error_of("# c\n- a\n"), "line 2: not a word");
  EXPECT_EQ(error_of("# c\n---\n- a: b: c\n").substr(0, 8), "line 3: ");
  EXPECT_EQ(error_of("a\n---\nb\n"), "line 2: a second document, of which nothing would be read");
  EXPECT_EQ(error_of("a\n" + std::string(1, '\0')), "line 2: a control character");
}

}  // namespace
}  // namespace pinion
