/// Files that a user names: texts, and YAML as trees in which every node has its line number.
///
/// Start with [TextFile], then [YamlFile] and [YamlNode].
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.option`, `org.horovod4j.text`,
///   `org.snakeyaml.engine.v2.api`,
///   `org.snakeyaml.engine.v2.composer`, `org.snakeyaml.engine.v2.events`,
///   `org.snakeyaml.engine.v2.exceptions`,
///   `org.snakeyaml.engine.v2.nodes`, `org.snakeyaml.engine.v2.parser`,
///   `org.snakeyaml.engine.v2.scanner`.
/// - Invariant: an error says why a file cannot be read, or which line is wrong. A YAML file becomes
///   texts, lists and mappings, and never an object of a class that it names.
@NullMarked
package org.horovod4j.launcher.file;

import org.jspecify.annotations.NullMarked;
