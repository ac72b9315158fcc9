/// What a rank asks for, and what is said when the ranks ask for different things.
///
/// Start with [Request].
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.codec`.
/// - Used by: `org.horovod4j.runtime`, `org.horovod4j.runtime.controller`.
@NullMarked
package org.horovod4j.runtime.message;

import org.jspecify.annotations.NullMarked;
