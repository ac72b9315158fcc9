package org.horovod4j.launcher.plan;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.file.TextFile;
import org.horovod4j.option.SpellingSuggestion;
import org.jspecify.annotations.Nullable;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
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
    private static final List<String> KEYS = List.of("slots", "user", "port", "identity");

    private final Path file;
    private final Map<String, Integer> lineByHost = new HashMap<>();
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
        HostSpec spec = HostSpec.parse(words[0]).orElse(null);
        if (spec == null) {
            throw new ConfigurationException(
                    "%s: '%s' is not a host. %s"
                            .formatted(where, words[0], HostSpec.hint(words[0])));
        }
        Integer before = lineByHost.putIfAbsent(spec.name(), number);
        if (before != null) {
            throw new ConfigurationException(
                    "%s: host '%s' is in line %d already. Name it once, with all its slots."
                            .formatted(where, spec.name(), before));
        }
        hosts.add(host(spec, words, where));
    }

    private static Host host(HostSpec spec, String[] words, String where) {
        Map<String, String> properties = properties(words, where);
        Integer slots = number(properties, "slots", 999_999, where);
        if (spec.slots() != null && slots != null) {
            throw new ConfigurationException(
                    "%s: slots are given twice, by '%s' and by slots=%d. Leave one out."
                            .formatted(where, words[0], slots));
        }
        Login login = login(properties, where);
        if (spec.user() != null && login.user() != null) {
            throw new ConfigurationException(
                    "%s: the user is given twice, by '%s' and by user=%s. Leave one out."
                            .formatted(where, words[0], login.user()));
        }
        if (slots == null) {
            slots = spec.slots() == null ? Integer.valueOf(Host.DEFAULT_SLOTS) : spec.slots();
        }
        try {
            return new Host(spec.name(), slots, Login.of(spec.user()).orElse(login));
        } catch (ConfigurationException e) {
            throw new ConfigurationException("%s: %s".formatted(where, e.getMessage()), e);
        }
    }

    /// The words after the host, such as `slots=4`.
    private static Map<String, String> properties(String[] words, String where) {
        Map<String, String> properties = new HashMap<>();
        for (String word : List.of(words).subList(1, words.length)) {
            int sign = word.indexOf('=');
            String key = sign < 0 ? word : word.substring(0, sign);
            if (sign < 0 || !KEYS.contains(key)) {
                throw new ConfigurationException(unknown(word, key, where));
            }
            if (properties.put(key, word.substring(sign + 1)) != null) {
                throw new ConfigurationException(
                        "%s: %s is given twice. Leave one out.".formatted(where, key));
            }
        }
        return properties;
    }

    private static String unknown(String word, String key, String where) {
        return "%s: '%s' is not understood.%s A host may be followed by %s."
                .formatted(
                        where,
                        word,
                        SpellingSuggestion.question(
                                key + "=", KEYS.stream().map(it -> it + "=").toList(), 0),
                        "slots=, user=, port= and identity=");
    }

    private static @Nullable Integer number(
            Map<String, String> properties, String key, int most, String where) {
        String text = properties.get(key);
        if (text == null) {
            return null;
        }
        if (!text.matches("\\d{1,6}") || Integer.parseInt(text) > most || text.matches("0+")) {
            throw new ConfigurationException(
                    "%s: %s=%s is not a number from 1 to %d.".formatted(where, key, text, most));
        }
        return Integer.valueOf(text);
    }

    private static Login login(Map<String, String> properties, String where) {
        String user = properties.get("user");
        if (user != null && !HostSpec.isUser(user)) {
            throw new ConfigurationException(
                    "%s: user=%s is not the name of a user.".formatted(where, user));
        }
        String identity = properties.get("identity");
        return new Login(
                user,
                number(properties, "port", 65_535, where),
                identity == null ? null : Login.findIdentityFile(identity, where + ": identity"));
    }
}
