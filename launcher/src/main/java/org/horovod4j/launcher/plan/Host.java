package org.horovod4j.launcher.plan;

import org.horovod4j.ConfigurationException;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// A host as the user named it, how many processes it takes, and how to log in there.
public record Host(String name, int slots, Login login) {
    /// At most six digits, so that neither a slot count nor the sum over hosts overflows.
    private static final Pattern SYNTAX = Pattern.compile("([\\w.-]+):(\\d{1,6})");

    private static final String EXAMPLE = "Write each host as name:slots, as in -H localhost:4.";

    public Host {
        if (slots < 1) {
            throw new ConfigurationException(
                    "-H: host '%s' has no slots. Give it at least one, as in %s:1."
                            .formatted(name, name));
        }
    }

    /// A host to which ssh finds the way by itself.
    public Host(String name, int slots) {
        this(name, slots, Login.DEFAULT);
    }

    /// Reads the value of `-H`, a list such as `a:2,b:4`.
    public static List<Host> list(String text) {
        List<Host> hosts = new ArrayList<>();
        Set<String> names = new HashSet<>();
        for (String item : text.split(",", -1)) {
            Host host = parse(item.strip(), text);
            if (!names.add(host.name)) {
                throw new ConfigurationException(
                        "-H: host '%s' appears twice in '%s'. Name it once, with all its slots."
                                .formatted(host.name, text));
            }
            hosts.add(host);
        }
        return List.copyOf(hosts);
    }

    private static Host parse(String item, String text) {
        Matcher match = SYNTAX.matcher(item);
        if (!match.matches()) {
            throw new ConfigurationException(
                    "-H: '%s' in '%s' is not a host with slots. %s".formatted(item, text, EXAMPLE));
        }
        return new Host(match.group(1), Integer.parseInt(match.group(2)));
    }

    @Override
    public String toString() {
        return name + ":" + slots;
    }
}
