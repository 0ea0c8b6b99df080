# SPDX-License-Identifier: BSD-3-Clause
# Draws doc/loadstore.svg from doc/loadstore.dat:  cd doc && gnuplot loadstore.gp
# Colours of Okabe and Ito, as in tools/bench/colours.h.
# There is no shape between two: points, no lines.
set terminal svg size 800,820 font "sans,12" background "white"
set output "loadstore.svg"
set multiplot layout 3,2 title "Copies of 1 GiB on an H200, 256 threads a block"
set yrange [0:4800]
set ytics 1000
set xrange [0:18]
set xtics 1, 2
set border 3
set tics nomirror font ",10"
set xlabel "values a thread (VT)" font ",11"
set ylabel "read and written, GB/s" font ",11"
set grid ytics lt 1 dt solid lw 0.7 lc rgb "#d8d8d8"
set key off
do for [i = 0:4] {
    set title word("1 2 4 8 16", i + 1) . (i == 0 ? " byte" : " bytes") . " an element"
    plot "loadstore.dat" index i using 2:3 with lines lw 1 dt 2 lc rgb "#666666", \
         "" index i using 2:4 with points lw 1.2 pt 6 ps 0.8 lc rgb "#000000", \
         "" index i using 2:5 with points pt 5 ps 0.6 lc rgb "#0072b2", \
         "" index i using 2:6 with points pt 9 ps 0.7 lc rgb "#d55e00", \
         "" index i using 2:7 with points pt 13 ps 0.7 lc rgb "#e69f00"
}
unset title
unset border
unset xtics
unset ytics
unset xlabel
unset ylabel
unset grid
set key center center spacing 1.6
set yrange [0:1]
plot NaN with lines lw 1 dt 2 lc rgb "#666666" title "device-to-device copy", \
     NaN with points lw 1.2 pt 6 ps 0.8 lc rgb "#000000" title "CUB, its best mode", \
     NaN with points pt 5 ps 0.6 lc rgb "#0072b2" title "global\\_to\\_shared and back", \
     NaN with points pt 9 ps 0.7 lc rgb "#d55e00" title "global\\_to\\_thread and back", \
     NaN with points pt 13 ps 0.7 lc rgb "#e69f00" title "global\\_to\\_global"
unset multiplot
