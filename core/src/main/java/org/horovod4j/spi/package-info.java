/// What the runtime asks of the parts that can be exchanged.
///
/// Start with [ControlPlane], then [RankInfo], the card a rank hands round.
///
/// - May depend on: `org.horovod4j`.
@NullMarked
package org.horovod4j.spi;

import org.jspecify.annotations.NullMarked;
