/// Every option, declared once: variable, flag, default, check, help and the reference page come
/// from that declaration.
///
/// Start with [Options] and [RuntimeOptions] (all options), then [Option] (a declaration),
/// [Environment] (how values are read), [WorkerSettings] (the settings of a rank),
/// [ProcessIdentity] (its rank and size), [RendezvousSettings] (how it finds the other ranks) and
/// [RuntimeSettings] (how it runs operations).
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.file`, `org.horovod4j.log`,
///   `org.horovod4j.scheduler`, `org.horovod4j.spi`.
/// - Invariant: the environment is read once, from a snapshot that is passed in, and becomes
///   records.
@NullMarked
package org.horovod4j.option;

import org.jspecify.annotations.NullMarked;
