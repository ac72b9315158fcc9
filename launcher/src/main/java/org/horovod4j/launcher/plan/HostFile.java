package org.horovod4j.launcher.plan;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.file.TextFile;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/// A file with one host per line.
///
/// ```
/// # comment
/// gpu1 slots=4
/// gpu2:4                      # the same, shorter
/// [fd00::7] slots=4 user=me port=2222 identity=~/.ssh/cluster
/// old                         # one slot, as with Open MPI
/// ```
public final class HostFile {
    private static final int DEFAULT_SLOTS = 1;

    private final Path file;
    private final Map<String, Integer> lineByHost = new LinkedHashMap<>();
    private final List<Host> hosts = new ArrayList<>();

    private HostFile(Path file) {
        this.file = file;
    }

    /// Reads the hosts, in the order of the file.
    ///
    /// @throws ConfigurationException when the file cannot be read or a line makes no sense
    public static List<Host> read(Path file) {
        return new HostFile(file).hosts(TextFile.read("host file ", file).lines().toList());
    }

    private List<Host> hosts(List<String> lines) {
        for (int number = 1; number <= lines.size(); number++) {
            String line = lines.get(number - 1).replaceFirst("#.*", "").strip();
            if (!line.isEmpty()) {
                add(line, number);
            }
        }
        if (hosts.isEmpty()) {
            throw new ConfigurationException(
                    "host file '%s' names no host. Write one in each line, as in: gpu1 slots=4"
                            .formatted(file));
        }
        return List.copyOf(hosts);
    }

    private void add(String line, int number) {
        String where = "%s:%d".formatted(file, number);
        String[] words = line.split("\\s+");
        HostSpec text =
                HostSpec.parse(words[0])
                        .orElseThrow(
                                () ->
                                        new ConfigurationException(
                                                "%s: '%s' is not a host. %s"
                                                        .formatted(
                                                                where,
                                                                words[0],
                                                                HostSpec.hint(words[0]))));
        Integer before = lineByHost.putIfAbsent(text.name(), number);
        if (before != null) {
            throw new ConfigurationException(
                    "%s: host '%s' is in line %d already. Name it once, with all its slots."
                            .formatted(where, text.name(), before));
        }
        hosts.add(host(text, words, where));
    }

    private static Host host(HostSpec text, String[] words, String where) {
        HostProperties given = HostProperties.parse(words, where);
        if (text.slots() != null && given.slots() != null) {
            throw new ConfigurationException(
                    "%s: slots are given twice, by '%s' and by slots=%d. Leave one out."
                            .formatted(where, words[0], given.slots()));
        }
        if (text.user() != null && given.login().user() != null) {
            throw new ConfigurationException(
                    "%s: the user is given twice, by '%s' and by user=%s. Leave one out."
                            .formatted(where, words[0], given.login().user()));
        }
        int slots =
                text.slots() != null
                        ? text.slots()
                        : given.slots() != null ? given.slots() : DEFAULT_SLOTS;
        try {
            return new Host(text.name(), slots, Login.of(text.user()).orElse(given.login()));
        } catch (ConfigurationException e) {
            throw new ConfigurationException("%s: %s".formatted(where, e.getMessage()), e);
        }
    }
}
