package org.horovod4j.launcher.driver;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.plan.Host;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/// What a discovery script prints: one host per line, as `host[:slots]`. Empty lines and text after
/// a `#` are skipped.
final class DiscoveryOutput {
    private static final int MAX_QUOTED_LENGTH = 60;

    private DiscoveryOutput() {}

    /// The hosts, in the order of the lines.
    ///
    /// @param slotsByDefault of a host without slots; null if each host must have them
    /// @throws DiscoveryException when a line is not a host: then the other lines may be wrong too
    static List<Host> parse(String text, @Nullable Integer slotsByDefault)
            throws DiscoveryException {
        List<Host> hosts = new ArrayList<>();
        Set<String> names = new HashSet<>();
        int number = 0;
        for (String line : text.lines().toList()) {
            number++;
            String item = line.replaceFirst("#.*", "").strip();
            if (!item.isEmpty()) {
                Host host = parse(item, number, slotsByDefault);
                if (!names.add(host.name())) {
                    throw new DiscoveryException(
                            "line %d names host '%s' again; each may be named once"
                                    .formatted(number, host.name()));
                }
                hosts.add(host);
            }
        }
        return hosts;
    }

    private static Host parse(String item, int number, @Nullable Integer slotsByDefault)
            throws DiscoveryException {
        try {
            return Host.parse(item, slotsByDefault)
                    .orElseThrow(
                            () ->
                                    new DiscoveryException(
                                            Host.parse(item, 1).isPresent()
                                                    ? "line %d gives no slots for '%s': print %s:4, or set --slots-per-host"
                                                            .formatted(number, item, item)
                                                    : "line %d is '%s', which is not a host: print lines such as gpu1:4"
                                                            .formatted(number, quoted(item))));
        } catch (ConfigurationException e) {
            throw new DiscoveryException("line %d: %s".formatted(number, e.getMessage()), e);
        }
    }

    private static String quoted(String item) {
        return item.length() <= MAX_QUOTED_LENGTH
                ? item
                : item.substring(0, MAX_QUOTED_LENGTH) + "…";
    }
}
