package org.horovod4j.process;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/// The command of a JVM like this one, with the same class path.
final class JavaCommand {
    private JavaCommand() {}

    /// @param prefix a command that runs another one, given after its own arguments
    static List<String> of(List<String> prefix, Class<?> program, List<String> arguments) {
        List<String> command = new ArrayList<>(prefix);
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("--add-modules", "jdk.incubator.vector"));
        command.add("--enable-native-access=ALL-UNNAMED");
        // Sixteen of them share a small machine: one thread collects garbage, little memory is
        // taken.
        command.addAll(List.of("-XX:+UseSerialGC", "-Xmx256m", "-XX:-UsePerfData"));
        command.addAll(List.of("-cp", System.getProperty("java.class.path")));
        command.add(program.getName());
        command.addAll(arguments);
        return command;
    }
}
