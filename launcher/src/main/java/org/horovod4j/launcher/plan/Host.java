package org.horovod4j.launcher.plan;

import org.horovod4j.ConfigurationException;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/// A host as the user named it, its number of slots, and how to log in. The name is not resolved
/// here.
public record Host(String name, int slots, Login login) {
    /// Of a host that is named without slots, as with Open MPI.
    static final int DEFAULT_SLOTS = 1;

    public Host {
        if (slots < 1) {
            throw new ConfigurationException(
                    "host '%s' has no slots. Give it at least one, as in %s:1."
                            .formatted(name, name));
        }
    }

    /// A host with the default login of ssh.
    public Host(String name, int slots) {
        this(name, slots, Login.DEFAULT);
    }

    /// Parses the value of `-H`, a list such as `a:2,me@b:4,[fd00::7]:4`. A host without slots has
    /// one, as in a host file.
    public static List<Host> list(String text) {
        return list("-H", text, DEFAULT_SLOTS);
    }

    /// Parses a list of hosts.
    ///
    /// @param origin where the list is from, for errors
    /// @param slotsByDefault of a host without slots
    public static List<Host> list(String origin, String text, int slotsByDefault) {
        List<Host> hosts = new ArrayList<>();
        Set<String> names = new HashSet<>();
        for (String item : text.split(",", -1)) {
            Host host = parse(item.strip(), slotsByDefault).orElse(null);
            if (host == null) {
                throw new ConfigurationException(
                        "%s: '%s' in '%s' is not a host. %s"
                                .formatted(origin, item.strip(), text, HostSpec.hint(item)));
            }
            if (!names.add(host.name)) {
                throw new ConfigurationException(
                        "%s: host '%s' appears twice in '%s'. Name it once, with all its slots."
                                .formatted(origin, host.name, text));
            }
            hosts.add(host);
        }
        return List.copyOf(hosts);
    }

    /// Parses one host.
    ///
    /// @param slotsByDefault of a host without slots; null if it must have them
    /// @return empty when the text is not a host with slots
    public static Optional<Host> parse(String item, @Nullable Integer slotsByDefault) {
        HostSpec spec = HostSpec.parse(item).orElse(null);
        if (spec == null) {
            return Optional.empty();
        }
        return Optional.ofNullable(spec.slots() == null ? slotsByDefault : spec.slots())
                .map(slots -> new Host(spec.name(), slots, Login.of(spec.user())));
    }

    /// This host, with what its login leaves open taken from `login`.
    public Host withDefaults(Login login) {
        return new Host(name, slots, this.login.orElse(login));
    }

    @Override
    public String toString() {
        return (name.contains(":") ? "[%s]".formatted(name) : name) + ":" + slots;
    }
}
