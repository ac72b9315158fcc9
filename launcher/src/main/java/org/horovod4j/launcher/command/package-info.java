/// The command line of `horovodrun`, and the files it names: what the user asks for, as records.
///
/// Start with [CommandLineReader] (from words to an [Invocation]), then [CommandLineSpec] (which
/// flags there are), [ConfigFile] and [JobFile] (what a file may say instead of flags).
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.option`, `org.horovod4j.launcher.driver`,
///   `org.horovod4j.launcher.plan`,
///   `org.horovod4j.launcher.yaml`, `picocli`.
/// - Invariant: nothing is started here; all that can be wrong with flags and files is found here.
@NullMarked
package org.horovod4j.launcher.command;

import org.jspecify.annotations.NullMarked;
