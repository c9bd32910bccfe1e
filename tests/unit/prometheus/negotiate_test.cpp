#include "metrics/prometheus/negotiate.h"

#include <gtest/gtest.h>

#include <string>

namespace pinion::prometheus {
namespace {

struct AcceptCase {
  const char* name;
  const char* header;
  Format expected;
};

class Accept : public testing::TestWithParam<AcceptCase> {};

TEST_P(Accept, ChoosesTheFormat) {
  EXPECT_EQ(negotiate_format(GetParam().header), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    Headers, Accept,
    testing::Values(
        AcceptCase{"nothing", "", Format::kText}, AcceptCase{"anything", "*/*", Format::kText},
        AcceptCase{"prometheus_2_42",
                   "application/openmetrics-text;version=1.0.0,application/"
                   "openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                   Format::kOpenMetrics},
        AcceptCase{"prometheus_without_openmetrics", "text/plain;version=0.0.4;q=1,*/*;q=0.1",
                   Format::kText},
        AcceptCase{"browser", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8", Format::kText},
        AcceptCase{"no_version", "application/openmetrics-text", Format::kOpenMetrics},
        AcceptCase{"quoted_version", "application/openmetrics-text; version=\"1.0.0\"",
                   Format::kOpenMetrics},
        AcceptCase{"letter_case_and_blanks", " Application/OpenMetrics-Text ; Version=1.0.0 ; Q=1 ",
                   Format::kOpenMetrics},
        AcceptCase{"old_draft_only", "application/openmetrics-text;version=0.0.1", Format::kText},
        AcceptCase{"not_wanted", "application/openmetrics-text;q=0", Format::kText},
        AcceptCase{"not_wanted_at_length", "application/openmetrics-text;q=0.000", Format::kText},
        AcceptCase{"text_liked_better",
                   "application/openmetrics-text;version=1.0.0;q=0.4,text/plain;q=0.5",
                   Format::kText},
        AcceptCase{"liked_the_same", "text/plain,application/openmetrics-text;version=1.0.0",
                   Format::kOpenMetrics},
        AcceptCase{"protobuf_first",
                   "application/vnd.google.protobuf;encoding=delimited,text/plain;q=0.6",
                   Format::kText},
        AcceptCase{"weight_without_sense", "application/openmetrics-text;q=x", Format::kText},
        AcceptCase{"only_separators", ",;,;=,", Format::kText}),
    [](const auto& one) { return one.param.name; });

struct EncodingCase {
  const char* name;
  const char* header;
  bool expected;
};

class AcceptEncoding : public testing::TestWithParam<EncodingCase> {};

TEST_P(AcceptEncoding, SaysWhetherGzipIsWanted) {
  EXPECT_EQ(wants_gzip(GetParam().header), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    Headers, AcceptEncoding,
    testing::Values(EncodingCase{"nothing", "", false}, EncodingCase{"gzip", "gzip", true},
                    EncodingCase{"among_others", "deflate, br, GZIP;q=0.5", true},
                    EncodingCase{"old_name", "x-gzip", true}, EncodingCase{"anything", "*", true},
                    EncodingCase{"refused", "gzip;q=0", false},
                    EncodingCase{"refused_before_anything", "gzip;q=0.0, *", false},
                    EncodingCase{"others_only", "br, deflate", false},
                    EncodingCase{"part_of_a_word", "gzipped", false}),
    [](const auto& one) { return one.param.name; });

struct HostCase {
  const char* name;
  const char* header;
  bool expected;
};

class Host : public testing::TestWithParam<HostCase> {};

TEST_P(Host, IsPlainWithoutAName) {
  EXPECT_EQ(host_is_plain(GetParam().header), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    Headers, Host,
    testing::Values(HostCase{"missing", "", true}, HostCase{"localhost", "localhost", true},
                    HostCase{"localhost_port", "LocalHost:9464", true},
                    HostCase{"v4", "127.0.0.1:9464", true}, HostCase{"v6", "[::1]:9464", true},
                    HostCase{"name", "evil.example:9464", false},
                    HostCase{"address_in_a_name", "127.0.0.1.evil.example", false},
                    HostCase{"localhost_in_a_name", "localhost.evil.example", false}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace pinion::prometheus
