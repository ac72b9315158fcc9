package org.horovod4j.runtime.timeline;

import java.nio.charset.StandardCharsets;

/// Builds a JSON object.
final class JsonBuilder {
    private static final String HEX = "0123456789abcdef";
    private static final char REPLACEMENT = '\ufffd';

    private final StringBuilder text = new StringBuilder(128).append('{');

    JsonBuilder put(String key, String value) {
        string(key);
        text.append(':');
        string(value);
        return this;
    }

    JsonBuilder put(String key, long value) {
        return putRaw(key, Long.toString(value));
    }

    JsonBuilder put(String key, boolean value) {
        return putRaw(key, Boolean.toString(value));
    }

    JsonBuilder put(String key, JsonBuilder value) {
        return putRaw(key, value.toString());
    }

    /// Adds a value that is JSON.
    JsonBuilder putRaw(String key, String json) {
        string(key);
        text.append(':').append(json);
        return this;
    }

    boolean isEmpty() {
        return text.length() == 1;
    }

    /// The object. More members can be added afterwards.
    @Override
    public String toString() {
        return text + "}";
    }

    /// The object in UTF-8.
    byte[] bytes() {
        return toString().getBytes(StandardCharsets.UTF_8);
    }

    private void string(String value) {
        char before = text.charAt(text.length() - 1);
        if (before != '{' && before != ':') {
            text.append(',');
        }
        text.append('"');
        for (int i = 0; i < value.length(); i++) {
            character(value, i);
        }
        text.append('"');
    }

    private void character(String value, int i) {
        char c = value.charAt(i);
        switch (c) {
            case '"', '\\' -> text.append('\\').append(c);
            case '\n' -> text.append("\\n");
            case '\r' -> text.append("\\r");
            case '\t' -> text.append("\\t");
            default -> {
                if (c < ' ') {
                    text.append("\\u00").append(HEX.charAt(c >> 4)).append(HEX.charAt(c & 15));
                } else {
                    text.append(isUnpairedSurrogate(value, i) ? REPLACEMENT : c);
                }
            }
        }
    }

    /// Whether a surrogate has no partner. UTF-8 cannot encode it.
    private static boolean isUnpairedSurrogate(String value, int i) {
        char c = value.charAt(i);
        if (Character.isHighSurrogate(c)) {
            return i + 1 == value.length() || !Character.isLowSurrogate(value.charAt(i + 1));
        }
        return Character.isLowSurrogate(c)
                && (i == 0 || !Character.isHighSurrogate(value.charAt(i - 1)));
    }
}
