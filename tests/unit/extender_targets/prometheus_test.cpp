// Prometheus's answers, as https://prometheus.io/docs/prometheus/latest/querying/api/ has them.
#include "cluster/extender/targets/prometheus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace pinion::cluster::targets {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json answer(const std::string& type, json result) {
  return {{"status", "success"}, {"data", {{"resultType", type}, {"result", std::move(result)}}}};
}

json series(const std::string& value) {
  return {{"metric", {{"pod", "p"}}}, {"value", {1435781451.781, value}}};
}

TEST(Prometheus, IsAskedWithALimit) {
  EXPECT_EQ(query_path("sum(a{b=\"c\"})"),
            "/api/v1/query?query=sum%28a%7Bb%3D%22c%22%7D%29&timeout=2s");
}

TEST(Prometheus, AnswersWithANumber) {
  EXPECT_EQ(*read_value(answer("vector", json::array({series("1.5e+06")}))), 1.5e6);
  EXPECT_EQ(*read_value(answer("vector", json::array({series("0")}))), 0);
  EXPECT_EQ(*read_value(answer("scalar", json::array({1435781451.781, "-2"}))), -2);
}

TEST(Prometheus, AnswersWithNone) {
  EXPECT_EQ(*read_value(answer("vector", json::array())), std::nullopt);
  for (const char* value : {"+Inf", "-Inf", "1e999"}) {
    EXPECT_EQ(*read_value(answer("vector", json::array({series(value)}))), std::nullopt) << value;
  }
}

TEST(Prometheus, AnswersWithAQuantileOfNoRequests) {
  const auto value = *read_value(answer("vector", json::array({series("NaN")})));
  ASSERT_TRUE(value);
  EXPECT_TRUE(std::isnan(*value));
}

TEST(Prometheus, AnswersWithWhatIsNoNumber) {
  const auto says = [](const json& what) {
    const auto value = read_value(what);
    return value ? std::string("a value") : value.error().text;
  };
  EXPECT_THAT(says(answer("vector", json::array({series("1"), series("2")}))),
              HasSubstr("2 series and not one"));
  EXPECT_THAT(says(answer("matrix", json::array())), HasSubstr("'matrix'"));
  EXPECT_THAT(says({{"status", "error"}, {"error", "parse error"}}), HasSubstr("none to a query"));
  EXPECT_THAT(says(answer("vector", json::array({series("ten")}))),
              HasSubstr("'ten' is no number"));
  EXPECT_THAT(says(answer("vector", json::array({series("")}))), HasSubstr("no number"));
  EXPECT_THAT(says(answer("scalar", json::array({1, 2}))), HasSubstr("no value"));
  EXPECT_THAT(says(json::array()), HasSubstr("none to a query"));
}

}  // namespace
}  // namespace pinion::cluster::targets
