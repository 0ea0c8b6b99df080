# SPDX-License-Identifier: BSD-3-Clause
# Draws doc/coalesce.svg from doc/coalesce.dat:  cd doc && gnuplot coalesce.gp
set terminal svg size 1000,420 font "sans,12" background "white"
set output "coalesce.svg"
set title "Kernels on records, H200, 1 GiB an array, GB/s of useful bytes: as nvcc compiles them, and rewritten"
set style data histograms
set style histogram clustered gap 1
set style fill solid 0.9 noborder
set boxwidth 0.9
set yrange [0:4600]
set grid ytics lc rgb "#dddddd"
set xtics rotate by -25 scale 0
set key outside bottom center horizontal
set arrow from graph 0, first 4246 to graph 1, first 4246 nohead dt 2 lc rgb "#555555"
set label "device copy 4,246" at graph 0.99, first 4380 right
plot "coalesce.dat" using 2:xtic(1) title "plain" lc rgb "#9aa5b1", \
     "" using 3 title "rewritten" lc rgb "#2ca02c"
