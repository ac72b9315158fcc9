/// Every option, declared once: variable, flag, default, check, help and the reference page come
/// from that declaration.
///
/// Start with [Options] and [RuntimeOptions] (what there is), then [Option] (what a declaration
/// says), [Environment] (how values are read), [WorkerSettings] (what a rank is started with),
/// [ProcessIdentity] and [RendezvousSettings] (who it is, where it meets the others) and [RuntimeSettings] (how it
/// runs operations).
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.log`, `org.horovod4j.scheduler`,
///   `org.horovod4j.spi`.
/// - Invariant: the environment is read once, from a snapshot that is handed in, and becomes
///   records.
@NullMarked
package org.horovod4j.option;

import org.jspecify.annotations.NullMarked;
