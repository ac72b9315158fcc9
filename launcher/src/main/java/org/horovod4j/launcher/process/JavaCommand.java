package org.horovod4j.launcher.process;

import java.util.ArrayList;
import java.util.List;

/// A command whose program is `java`. It gets the two options that Horovod4J works best with.
///
/// The vector module is an incubator module: the JVM resolves it only on request, and prints a
/// one-line warning. The launcher hides the warning if it added the option, not if the user did.
record JavaCommand(List<String> words) {
    private static final String MODULE = "jdk.incubator.vector";
    private static final String ADD_MODULES = "--add-modules";
    private static final String WARNING = "WARNING: Using incubator modules: " + MODULE;

    /// The two options.
    static final List<String> OPTIONS =
            List.of(ADD_MODULES, MODULE, "--enable-native-access=ALL-UNNAMED");

    Program program(String java) {
        List<String> command = new ArrayList<>();
        command.add(java);
        boolean complete = namesVectorModule();
        if (!complete) {
            command.addAll(OPTIONS);
        }
        command.addAll(words.subList(1, words.size()));
        return new Program(command, complete ? "" : WARNING);
    }

    private boolean namesVectorModule() {
        for (int at = 1; at < words.size(); at++) {
            String value =
                    words.get(at).startsWith(ADD_MODULES + "=")
                            ? words.get(at).substring(ADD_MODULES.length() + 1)
                            : words.get(at - 1).equals(ADD_MODULES) ? words.get(at) : "";
            if (List.of(value.split(",")).contains(MODULE)) {
                return true;
            }
        }
        return false;
    }
}
