# SPDX-License-Identifier: BSD-3-Clause
# Draws doc/loadstore.svg from doc/loadstore.dat:  cd doc && gnuplot loadstore.gp
set terminal svg size 1000,640 font "sans,12" background "white"
set output "loadstore.svg"
set multiplot layout 2,3 title "Copies of 1 GiB on an H200, 256 threads a block, GB/s read and written by values a thread (VT)"
set yrange [0:4600]
set xrange [0:18]
set xtics 4
set grid ytics lc rgb "#dddddd"
set key off
do for [i = 0:4] {
    set title word("1 2 4 8 16", i + 1) . " bytes an element"
    plot "loadstore.dat" index i using 2:3 with lines lw 1 dt 2 lc rgb "#555555", \
         "" index i using 2:4 with linespoints lw 1 pt 6 ps 0.5 lc rgb "#1f77b4", \
         "" index i using 2:5 with linespoints lw 2 pt 7 ps 0.5 lc rgb "#d62728", \
         "" index i using 2:6 with linespoints lw 2 pt 7 ps 0.5 lc rgb "#2ca02c", \
         "" index i using 2:7 with linespoints lw 2 pt 7 ps 0.5 lc rgb "#ff7f0e"
}
unset title
unset border
unset xtics
unset ytics
unset grid
set key center center spacing 1.6
set yrange [0:1]
plot NaN with lines lw 1 dt 2 lc rgb "#555555" title "device-to-device copy", \
     NaN with linespoints lw 1 pt 6 ps 0.5 lc rgb "#1f77b4" title "CUB, its best mode", \
     NaN with linespoints lw 2 pt 7 ps 0.5 lc rgb "#d62728" title "global\\_to\\_shared and back", \
     NaN with linespoints lw 2 pt 7 ps 0.5 lc rgb "#2ca02c" title "global\\_to\\_thread and back", \
     NaN with linespoints lw 2 pt 7 ps 0.5 lc rgb "#ff7f0e" title "global\\_to\\_global"
unset multiplot
