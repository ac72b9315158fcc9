package org.horovod4j.launcher.plan;

import org.horovod4j.ConfigurationException;
import org.horovod4j.option.SpellingSuggestion;
import org.jspecify.annotations.Nullable;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/// The words after the host in a line of a host file, such as `slots=4`.
record HostProperties(@Nullable Integer slots, Login login) {
    private static final List<String> KEYS = List.of("slots", "user", "port", "identity");

    /// Parses all words except the first.
    ///
    /// @param where file and line, for errors
    static HostProperties parse(String[] words, String where) {
        Map<String, String> values = new HashMap<>();
        for (String word : List.of(words).subList(1, words.length)) {
            int sign = word.indexOf('=');
            String key = sign < 0 ? word : word.substring(0, sign);
            if (sign < 0 || !KEYS.contains(key)) {
                throw new ConfigurationException(unknown(word, key, where));
            }
            if (values.put(key, word.substring(sign + 1)) != null) {
                throw new ConfigurationException(
                        "%s: %s is given twice. Leave one out.".formatted(where, key));
            }
        }
        return new HostProperties(
                number(values.get("slots"), 999_999, "slots", where),
                new Login(
                        user(values.get("user"), where),
                        number(values.get("port"), 65_535, "port", where),
                        identity(values.get("identity"), where)));
    }

    private static String unknown(String word, String key, String where) {
        return "%s: '%s' is not understood.%s A host may be followed by %s."
                .formatted(
                        where,
                        word,
                        SpellingSuggestion.nearest(key, KEYS, 0)
                                .map(meant -> " Did you mean %s=?".formatted(meant))
                                .orElse(""),
                        "slots=, user=, port= and identity=");
    }

    private static @Nullable Integer number(
            @Nullable String text, int most, String key, String where) {
        if (text == null) {
            return null;
        }
        if (!text.matches("\\d{1,6}") || Integer.parseInt(text) > most || text.matches("0+")) {
            throw new ConfigurationException(
                    "%s: %s=%s is not a number from 1 to %d.".formatted(where, key, text, most));
        }
        return Integer.valueOf(text);
    }

    private static @Nullable String user(@Nullable String text, String where) {
        if (text != null && !text.matches("\\w\\S*")) {
            throw new ConfigurationException(
                    "%s: user=%s is not the name of a user.".formatted(where, text));
        }
        return text;
    }

    private static @Nullable Path identity(@Nullable String text, String where) {
        return text == null ? null : IdentityFile.of(text, where + ": identity");
    }
}
