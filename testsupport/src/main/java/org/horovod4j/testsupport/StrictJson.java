package org.horovod4j.testsupport;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// Parses JSON strictly by RFC 8259, independent of the code under test.
public final class StrictJson {
    private static final Pattern NUMBER =
            Pattern.compile("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][-+]?[0-9]+)?");
    private static final Pattern STRING =
            Pattern.compile("\"([^\"\\\\\\x00-\\x1f]|\\\\[\"\\\\/bfnrt]|\\\\u[0-9a-fA-F]{4})*+\"");
    private static final Pattern ESCAPE = Pattern.compile("\\\\(u(....)|.)");

    private final String text;
    private int position;

    private StrictJson(String text) {
        this.text = text;
    }

    /// Lists, maps, strings, [BigDecimal]s and booleans; null is the string "null".
    public static Object parse(String text) {
        StrictJson json = new StrictJson(text);
        Object value = json.value();
        json.space();
        if (json.position != text.length()) {
            throw json.invalid();
        }
        return value;
    }

    private Object value() {
        space();
        if (position == text.length()) {
            throw invalid();
        }
        return switch (text.charAt(position)) {
            case '[' -> list();
            case '{' -> map();
            case '"' -> string();
            case 't' -> word("true", true);
            case 'f' -> word("false", false);
            case 'n' -> word("null", "null");
            default -> new BigDecimal(match(NUMBER));
        };
    }

    private List<Object> list() {
        List<Object> values = new ArrayList<>();
        position++;
        if (!closes(']')) {
            do {
                values.add(value());
            } while (hasMore(']'));
        }
        return values;
    }

    private Map<String, Object> map() {
        Map<String, Object> values = new LinkedHashMap<>();
        position++;
        if (!closes('}')) {
            do {
                space();
                String key = string();
                space();
                if (text.charAt(position++) != ':' || values.put(key, value()) != null) {
                    throw invalid();
                }
            } while (hasMore('}'));
        }
        return values;
    }

    private boolean closes(char end) {
        space();
        boolean closes = position < text.length() && text.charAt(position) == end;
        if (closes) {
            position++;
        }
        return closes;
    }

    private boolean hasMore(char end) {
        if (closes(end)) {
            return false;
        }
        if (position == text.length() || text.charAt(position++) != ',') {
            throw invalid();
        }
        return true;
    }

    private String string() {
        String quoted = match(STRING);
        return ESCAPE.matcher(quoted.substring(1, quoted.length() - 1))
                .replaceAll(match -> Matcher.quoteReplacement(plain(match.group(1))));
    }

    private static String plain(String escape) {
        return switch (escape.charAt(0)) {
            case 'u' -> Character.toString((char) Integer.parseInt(escape.substring(1), 16));
            case 'b' -> "\b";
            case 'f' -> "\f";
            case 'n' -> "\n";
            case 'r' -> "\r";
            case 't' -> "\t";
            default -> escape;
        };
    }

    private Object word(String word, Object value) {
        if (!text.startsWith(word, position)) {
            throw invalid();
        }
        position += word.length();
        return value;
    }

    private String match(Pattern pattern) {
        Matcher matcher = pattern.matcher(text).region(position, text.length());
        if (!matcher.lookingAt()) {
            throw invalid();
        }
        position = matcher.end();
        return matcher.group();
    }

    private void space() {
        while (position < text.length() && " \t\r\n".indexOf(text.charAt(position)) >= 0) {
            position++;
        }
    }

    private AssertionError invalid() {
        int begin = Math.max(0, position - 60);
        return new AssertionError(
                "no valid JSON at character %d of %d, after: %s"
                        .formatted(position, text.length(), text.substring(begin, position)));
    }
}
