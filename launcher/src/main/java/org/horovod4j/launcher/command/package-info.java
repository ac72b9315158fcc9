/// The command line of `horovodrun` and the files it names, as records.
///
/// Start with [CommandLineReader] (from arguments to an [Invocation]), then [LauncherFlag] and
/// [CommandLineSpec] (all flags), [ConfigFile] and [JobFile] (files that replace flags), and
/// [LaunchRequest], which combines them.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.option`, `org.horovod4j.text`,
///   `org.horovod4j.launcher.driver`, `org.horovod4j.launcher.file`, `org.horovod4j.launcher.plan`, `picocli`.
/// - Invariant: this package starts nothing. It finds all errors in flags and files.
@NullMarked
package org.horovod4j.launcher.command;

import org.jspecify.annotations.NullMarked;
