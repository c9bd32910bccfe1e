pinion_fuzz(metrics_proc SOURCES metrics_proc.cpp LINK metrics_parse)
