package org.horovod4j.launcher.plan;

import org.jspecify.annotations.Nullable;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// A host in the form `[user@]name[:slots]`, with IPv6 addresses in brackets.
///
/// Name and user must not start with a dash: ssh would read it as an option.
record HostSpec(@Nullable String user, String name, @Nullable Integer slots) {
    private static final String USER = "\\w[\\w.+\\\\-]*";

    private static final Pattern SYNTAX =
            Pattern.compile(
                    "(?:(?<user>"
                            + USER
                            + ")@)?"
                            + "(?:(?<name>\\w[\\w.-]*)|\\[(?<ipv6>[0-9A-Fa-f:.]+(?:%[\\w.-]+)?)])"
                            // Six digits, so that neither a count nor the sum over hosts overflows.
                            + "(?::(?<slots>\\d{1,6}))?");

    /// Empty when the text is not a host.
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

    /// Whether a text can be the name of a user.
    static boolean isUser(String text) {
        return text.matches(USER);
    }

    /// What to write instead of a text that is not a host.
    static String hint(String text) {
        return text.matches("[0-9A-Fa-f.]*:[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*")
                ? "Put an IPv6 address in brackets, as in [fd00::7]:4."
                : "Write each host as name:slots, as in localhost:4.";
    }
}
