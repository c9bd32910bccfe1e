pinion_fuzz(base_quantity SOURCES ${CMAKE_CURRENT_LIST_DIR}/base_quantity.cpp LINK quantity)
