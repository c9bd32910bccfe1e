#include "metrics/perf/cpu_model.h"

#include <gtest/gtest.h>

namespace pinion::metrics::perf {
namespace {

struct CpuCase {
  const char* name;
  const char* text;
  Vendor vendor;
  int family;
  int model;
  Core core;
};

class CpuInfo : public testing::TestWithParam<CpuCase> {};

TEST_P(CpuInfo, SaysWhichCore) {
  const CpuModel cpu = parse_cpu_model(GetParam().text);
  EXPECT_EQ(cpu.vendor, GetParam().vendor);
  EXPECT_EQ(cpu.family, GetParam().family);
  EXPECT_EQ(cpu.model, GetParam().model);
  EXPECT_EQ(core_of(cpu), GetParam().core) << to_string(core_of(cpu));
}

constexpr auto kIntel = Vendor::kIntel;
constexpr auto kAmd = Vendor::kAmd;

INSTANTIATE_TEST_SUITE_P(
    Machines, CpuInfo,
    testing::Values(
        CpuCase{"sapphire_rapids",
                "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n"
                "model name\t: Intel(R) Xeon(R) Processor\nstepping\t: 8\n\nprocessor\t: 1\n",
                kIntel, 6, 143, Core::kSapphireRapids},
        CpuCase{"emerald_rapids", "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t: 207\n",
                kIntel, 6, 207, Core::kSapphireRapids},
        CpuCase{"granite_rapids", "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t: 173\n",
                kIntel, 6, 173, Core::kGraniteRapids},
        CpuCase{"cascade_lake", "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t: 85\n", kIntel,
                6, 85, Core::kSkylakeServer},
        CpuCase{"ice_lake", "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t: 106\n", kIntel, 6,
                106, Core::kIceLakeServer},
        CpuCase{"broadwell", "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t: 79\n", kIntel, 6,
                79, Core::kOtherIntel},
        CpuCase{"naples", "vendor_id\t: AuthenticAMD\ncpu family\t: 23\nmodel\t: 1\n", kAmd, 23, 1,
                Core::kZen1},
        CpuCase{"dhyana", "vendor_id\t: HygonGenuine\ncpu family\t: 24\nmodel\t: 1\n", kAmd, 24, 1,
                Core::kZen1},
        CpuCase{"rome", "vendor_id\t: AuthenticAMD\ncpu family\t: 23\nmodel\t: 49\n", kAmd, 23, 49,
                Core::kZen2},
        CpuCase{"milan", "vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t: 1\n", kAmd, 25, 1,
                Core::kZen3},
        CpuCase{"genoa", "vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t: 17\n", kAmd, 25, 17,
                Core::kZen4},
        CpuCase{"bergamo", "vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t: 160\n", kAmd, 25,
                160, Core::kZen4},
        CpuCase{"turin", "vendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t: 2\n", kAmd, 26, 2,
                Core::kZen5},
        CpuCase{"zen_to_come", "vendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t: 80\n", kAmd,
                26, 80, Core::kOtherAmd},
        CpuCase{"bulldozer", "vendor_id\t: AuthenticAMD\ncpu family\t: 21\nmodel\t: 2\n", kAmd, 21,
                2, Core::kOtherAmd},
        CpuCase{"arm",
                "processor\t: 0\nBogoMIPS\t: 243.75\nCPU implementer\t: 0x41\n"
                "CPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\n",
                Vendor::kArm, -1, -1, Core::kArm},
        CpuCase{"riscv", "processor\t: 0\nhart\t: 1\nisa\t: rv64imafdc\n", Vendor::kOther, -1, -1,
                Core::kUnknown},
        CpuCase{"empty", "", Vendor::kOther, -1, -1, Core::kUnknown},
        CpuCase{"no_model", "vendor_id\t: AuthenticAMD\ncpu family\t: 25\n", kAmd, 25, -1,
                Core::kOtherAmd},
        CpuCase{"absurd_numbers",
                "vendor_id\t: GenuineIntel\ncpu family\t: 99999999999999\nmodel\t: -3\n", kIntel,
                -1, -1, Core::kOtherIntel},
        CpuCase{"words_for_numbers", "vendor_id\t: GenuineIntel\ncpu family\t: six\nmodel\t: 85x\n",
                kIntel, -1, -1, Core::kOtherIntel}),
    [](const auto& tested) { return tested.param.name; });

TEST(CpuInfoText, OnlyTheFirstProcessorIsRead) {
  const CpuModel cpu = parse_cpu_model(
      "\n\nvendor_id : AuthenticAMD\ncpu family : 25\nmodel : 1\nmodel name : AMD EPYC 7763\n\n"
      "vendor_id : GenuineIntel\ncpu family : 6\nmodel : 85\n");
  EXPECT_EQ(cpu, (CpuModel{Vendor::kAmd, 25, 1, "AMD EPYC 7763"}));
}

TEST(CpuInfoText, ALongNameIsCut) {
  const CpuModel cpu = parse_cpu_model("model name : " + std::string(5000, 'x'));
  EXPECT_EQ(cpu.name, std::string(128, 'x'));
}

}  // namespace
}  // namespace pinion::metrics::perf
