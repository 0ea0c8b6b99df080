# Charts.
shpool_bench_SOURCES += tools/bench/plot/plot.c tools/bench/plot/plot.h
