/// The command line of `horovodrun` and the files it names, as records.
///
/// Start with [CommandLineReader] (from arguments to an [Invocation]), then [CommandLineSpec] (all
/// flags), [ConfigFile] and [JobFile] (files that replace flags).
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.option`, `org.horovod4j.launcher.driver`,
///   `org.horovod4j.launcher.plan`,
///   `org.horovod4j.launcher.yaml`, `picocli`.
/// - Invariant: this package starts nothing. It finds all errors in flags and files.
@NullMarked
package org.horovod4j.launcher.command;

import org.jspecify.annotations.NullMarked;
