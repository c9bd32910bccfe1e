pinion_program(pinion-fence-bench
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/fence_bench.cpp
  LINK lab discover CLI11::CLI11)
add_dependencies(pinion-fence-bench pinion-lab-guard pinion-pause pinion-agent)
