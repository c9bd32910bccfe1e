# A node's snapshot as text and as data; recordings of it.
pinion_library(ctl_snapshot
  SOURCES node_source.cpp recording.cpp interval_figures.cpp container_rows.cpp draw_node.cpp
    core_bar.cpp top_view.cpp
  LINK node_proto comparison ctl_text topology nlohmann_json::nlohmann_json)

# Range queries over HTTP.
pinion_library(ctl_compare
  SOURCES comparison_json.cpp prometheus_query.cpp prometheus_client.cpp duration.cpp
    compare_sources.cpp
  LINK ctl ctl_snapshot PkgConfig::CPPHTTPLIB)

pinion_library(ctl_node
  SOURCES source_options.cpp value_options.cpp message_json.cpp node_command.cpp
    top_command.cpp record_command.cpp compare_command.cpp plan_command.cpp
  LINK ctl ctl_plan ctl_requests ctl_snapshot ctl_compare agent_client)
