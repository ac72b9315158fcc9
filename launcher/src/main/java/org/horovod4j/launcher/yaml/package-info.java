/// YAML files as trees in which every node has its line number, for error messages.
///
/// Start with [YamlFile], then [YamlNode].
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.option`, `org.horovod4j.launcher.file`,
///   `org.snakeyaml.engine.v2.api`, `org.snakeyaml.engine.v2.composer`,
///   `org.snakeyaml.engine.v2.exceptions`, `org.snakeyaml.engine.v2.nodes`,
///   `org.snakeyaml.engine.v2.parser`, `org.snakeyaml.engine.v2.scanner`.
/// - Invariant: a file becomes texts, lists and mappings, and never an object of a class that it
///   names.
@NullMarked
package org.horovod4j.launcher.yaml;

import org.jspecify.annotations.NullMarked;
