/// Values as text, for messages: [DurationFormat], [RankList] and [MessageText].
///
/// - May depend on: the JDK alone.
/// - Invariant: the agent on a remote host contains this package, so it stays small.
@NullMarked
package org.horovod4j.text;

import org.jspecify.annotations.NullMarked;
