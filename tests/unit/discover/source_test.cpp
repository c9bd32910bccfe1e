#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "topology/discover/discover.h"

namespace pinion::topology {
namespace {

TEST(Source, IsReadFromItsFourForms) {
  struct Case {
    std::string text;
    Source::Kind kind;
    std::string value;
  };
  const std::vector<Case> cases = {
      {"live", Source::Kind::kLive, ""},
      {"xml:machine.xml", Source::Kind::kXml, "machine.xml"},
      {"xml:a:b", Source::Kind::kXml, "a:b"},
      {"synthetic:core:2 pu:2", Source::Kind::kSynthetic, "core:2 pu:2"},
      {"root:/host", Source::Kind::kRoot, "/host"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.text);
    const auto source = Source::parse(one.text);
    ASSERT_TRUE(source);
    EXPECT_EQ(source->kind, one.kind);
    EXPECT_EQ(source->value, one.value);
  }
}

TEST(Source, OfAnyOtherFormIsRefusedWithTheForms) {
  for (const std::string text :
       {"", "Live", "live:", "live ", "xml", "xml:", "synthetic:", "root:", "file:x", ":"}) {
    SCOPED_TRACE("'" + text + "'");
    const auto source = Source::parse(text);
    ASSERT_FALSE(source);
    EXPECT_EQ(source.error().code, Errc::kInvalid);
    EXPECT_THAT(source.error().text, testing::StartsWith("'" + text + "' "));
    for (const char* form : {"live", "xml:FILE", "synthetic:STRING", "root:DIR"}) {
      EXPECT_THAT(source.error().text, testing::HasSubstr(form));
    }
  }
}

}  // namespace
}  // namespace pinion::topology
