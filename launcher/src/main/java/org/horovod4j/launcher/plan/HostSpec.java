package org.horovod4j.launcher.plan;

import org.jspecify.annotations.Nullable;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// A host as people write it, `[user@]name[:slots]`, with an IPv6 address in brackets.
///
/// Neither name nor user may start with a dash, or ssh would take it for an option of its own.
record HostSpec(@Nullable String user, String name, @Nullable Integer slots) {
    private static final Pattern SYNTAX =
            Pattern.compile(
                    "(?:(?<user>\\w[\\w.+\\\\-]*)@)?"
                            + "(?:(?<name>\\w[\\w.-]*)|\\[(?<ipv6>[0-9A-Fa-f:.]+(?:%[\\w.-]+)?)])"
                            // Six digits, so that neither a count nor the sum over hosts overflows.
                            + "(?::(?<slots>\\d{1,6}))?");

    /// Empty when the text is none.
    static Optional<HostSpec> parse(String text) {
        Matcher match = SYNTAX.matcher(text);
        if (!match.matches()) {
            return Optional.empty();
        }
        String ipv6 = match.group("ipv6");
        String slots = match.group("slots");
        return Optional.of(
                new HostSpec(
                        match.group("user"),
                        ipv6 == null ? match.group("name") : ipv6,
                        slots == null ? null : Integer.valueOf(slots)));
    }

    /// What to do about a text that is no host.
    static String hint(String text) {
        return text.matches("[0-9A-Fa-f.]*:[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*")
                ? "Put an IPv6 address in brackets, as in [fd00::7]:4."
                : "Write each host as name:slots, as in localhost:4.";
    }
}
