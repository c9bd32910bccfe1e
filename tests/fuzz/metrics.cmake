pinion_fuzz(metrics_proc SOURCES metrics_proc.cpp LINK metrics_parse)
pinion_fuzz(metrics_text SOURCES metrics_text.cpp LINK metrics_parse)
