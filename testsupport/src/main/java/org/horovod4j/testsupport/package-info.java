/// What the tests of several modules share: processes, hosts, system packages, architecture rules.
///
/// Start with [ModuleRules] for the structure of the code, and with [TestJvm] and [Processes] for
/// tests that start programs. [SimulatedHost] and [SshHosts] turn this machine into several.
/// [ByteFuzzer] feeds changed bytes to decoders. [SlowCases] keeps cases for the slow tests.
/// [ElasticTestJob] runs elastic jobs. [ParsedTrace] reads timelines, and [ResourceUsage] finds leaks.
/// [FreePort] chooses ports. [DefaultAwaitTimeout] sets the timeout of `await()`.
///
/// - May depend on: `com.tngtech.archunit..`, `org.assertj..`, `org.awaitility..`,
///   `org.junit.jupiter..`, `org.junit.platform.launcher..`.
/// - Invariant: no class of Horovod4J is used here, so the tests of every module can use this one.
@NullMarked
package org.horovod4j.testsupport;

import org.jspecify.annotations.NullMarked;
