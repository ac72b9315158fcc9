/// Makes tables of medians and ratios from the result lines of programs.
///
/// Start with [Result] (one line), then [RoundTimes] (all lines of one program), [ResultsByCase]
/// (the lines of all programs), [Table], [LogLogPlot] and [ReportWriter].
///
/// - May depend on: the JDK alone.
/// - Invariant: ratios are computed for each round or turn, and the median is taken of the ratios.
@NullMarked
package org.horovod4j.benchmarks.report;

import org.jspecify.annotations.NullMarked;
