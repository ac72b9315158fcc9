/// From the lines that programs leave behind to tables of medians and ratios.
///
/// Start with [Result] (one line), then [RoundTimes] (all lines of one program), [ResultsByCase] (of all
/// programs), [Table] and [ReportWriter].
///
/// - May depend on: the JDK alone.
/// - Invariant: a ratio is taken round by round before its median is.
@NullMarked
package org.horovod4j.benchmarks.report;

import org.jspecify.annotations.NullMarked;
