package org.horovod4j.launcher;

import org.horovod4j.testsupport.SshHosts;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/// Starts launchers that reach the hosts of [SshHosts].
final class SshCluster extends SshHosts {

    LauncherProcess start(String... arguments) throws IOException {
        return start(Map.of(), arguments);
    }

    LauncherProcess start(Map<String, String> variables, String... arguments) throws IOException {
        return start(HorovodRun.class, variables, arguments);
    }

    /// A launcher with two ranks on each host.
    LauncherProcess startOnAll(Map<String, String> variables, String... command)
            throws IOException {
        List<String> words =
                new ArrayList<>(List.of("-np", "6", "-H", "hvdssh1:2,hvdssh2:2,hvdssh3:2"));
        words.addAll(List.of(command));
        return start(variables, words.toArray(String[]::new));
    }

    /// Starts a program that launches a function on the hosts.
    LauncherProcess start(Class<?> main, String... arguments) throws IOException {
        return start(main, Map.of(), arguments);
    }

    LauncherProcess start(Class<?> main, Map<String, String> variables, String... arguments)
            throws IOException {
        Map<String, String> all = new HashMap<>(variables);
        all.putIfAbsent("PATH", path());
        return LauncherProcess.start(main, all, arguments);
    }
}
