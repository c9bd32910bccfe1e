pinion_fuzz(perf_cpu SOURCES perf_cpu.cpp LINK perf_table)
pinion_fuzz(perf_carry SOURCES perf_carry.cpp LINK perf_table)
