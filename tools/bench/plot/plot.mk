# Charts.
shpool_bench_SOURCES += \
	tools/bench/plot/chart.h \
	tools/bench/plot/end_label.c \
	tools/bench/plot/layout.c \
	tools/bench/plot/look.c \
	tools/bench/plot/plot.c \
	tools/bench/plot/plot.h \
	tools/bench/plot/script.c
