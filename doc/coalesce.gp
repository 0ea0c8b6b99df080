# SPDX-License-Identifier: BSD-3-Clause
# Draws doc/coalesce.svg from doc/coalesce.dat:  cd doc && gnuplot coalesce.gp
# Colours of Okabe and Ito, as in tools/bench/colours.h.
set terminal svg noenhanced size 800,440 font "sans,12" background "white"
set output "coalesce.svg"
set title "Kernels on records, as nvcc compiles them and rewritten (H200, 1 GiB an array)"
set style fill solid 0.9 noborder
set border 3
set tics nomirror font ",10"
set boxwidth 0.38
set xrange [-0.6:17.6]
set yrange [0:5300]
set ytics 1000
set ylabel "useful bytes, GB/s" font ",11"
set grid ytics lt 1 dt solid lw 0.7 lc rgb "#d8d8d8"
set xtics rotate by 40 right scale 0 font ",10"
set key at graph 0.5, screen 0.03 center horizontal font ",11"
set bmargin at screen 0.27
set rmargin at screen 0.98
set arrow from graph 0, first 4246 to graph 1, first 4246 nohead dt 2 lc rgb "#666666"
set label "device-to-device copy, 4,246 GB/s" at graph 0.995, first 4640 right font ",10" \
    tc rgb "#666666"
set arrow from first 12, graph 0 to first 12, graph 0.78 nohead lw 0.7 lc rgb "#999999"
set label "rewritten: times as fast" at first 5.5, graph 0.96 center font ",11"
set label "left as they are" at first 15, graph 0.96 center font ",11"
times(plain, rewritten) = \
    sprintf(rewritten < 10 * plain ? "%.1f" : "%.0f", 1.0 * rewritten / plain)
plot "coalesce.dat" index 0 using ($0 - 0.2):2:xtic(1) with boxes lc rgb "#999999" title "plain", \
     "" index 0 using ($0 + 0.2):3 with boxes lc rgb "#009e73" title "rewritten", \
     "" index 0 using ($0 + 0.1):(4460):(times($2, $3)) with labels font ",10" notitle, \
     "" index 1 using ($0 + 12.8):2:xtic(1) with boxes lc rgb "#999999" notitle, \
     "" index 1 using ($0 + 13.2):3 with boxes lc rgb "#009e73" notitle
