package org.horovod4j.runtime.timeline;

import java.util.LinkedHashMap;
import java.util.Map;

/// Reads one JSON object, and leaves its values as the text they are.
///
/// To move an event into another trace, few of its values need to be understood; the others are
/// checked, so that a merged trace is valid whatever its parts were, and copied.
final class JsonScanner {
    /// Traces of ours need three levels. Without a limit, hostile text could exhaust the stack.
    private static final int MAX_DEPTH = 32;

    private final String text;
    private int position;
    private int depth;

    JsonScanner(String text) {
        this.text = text;
    }

    /// The members of the object that is all of the text, in order.
    ///
    /// @throws IllegalArgumentException when it is no JSON object
    Map<String, String> object() {
        Map<String, String> members = members();
        if (position != text.length()) {
            throw unexpected();
        }
        return members;
    }

    /// The characters that a JSON string stands for.
    static String unquote(String json) {
        StringBuilder plain = new StringBuilder();
        JsonScanner scanner = new JsonScanner(json);
        scanner.expect('"');
        while (scanner.peek() != '"') {
            plain.append(scanner.character());
        }
        return plain.toString();
    }

    private Map<String, String> members() {
        Map<String, String> members = new LinkedHashMap<>();
        expect('{');
        skipSpace();
        if (take('}')) {
            return members;
        }
        do {
            skipSpace();
            String key = unquote(raw(this::string));
            skipSpace();
            expect(':');
            skipSpace();
            members.put(key, raw(this::value));
            skipSpace();
        } while (take(','));
        expect('}');
        return members;
    }

    private String raw(Runnable part) {
        int begin = position;
        part.run();
        return text.substring(begin, position);
    }

    private void value() {
        if (++depth > MAX_DEPTH) {
            throw unexpected();
        }
        switch (peek()) {
            case '{' -> members();
            case '[' -> array();
            case '"' -> string();
            case 't' -> literal("true");
            case 'f' -> literal("false");
            case 'n' -> literal("null");
            default -> number();
        }
        depth--;
    }

    private void array() {
        expect('[');
        skipSpace();
        if (take(']')) {
            return;
        }
        do {
            skipSpace();
            value();
            skipSpace();
        } while (take(','));
        expect(']');
    }

    private void string() {
        expect('"');
        while (peek() != '"') {
            character();
        }
        expect('"');
    }

    private char character() {
        char c = next();
        if (c < ' ') {
            position--;
            throw unexpected();
        }
        return c == '\\' ? escaped(next()) : c;
    }

    private char escaped(char c) {
        return switch (c) {
            case '"', '\\', '/' -> c;
            case 'b' -> '\b';
            case 'f' -> '\f';
            case 'n' -> '\n';
            case 'r' -> '\r';
            case 't' -> '\t';
            case 'u' -> (char) (digit() << 12 | digit() << 8 | digit() << 4 | digit());
            default -> throw unexpected();
        };
    }

    private int digit() {
        int value = Character.digit(next(), 16);
        if (value < 0) {
            throw unexpected();
        }
        return value;
    }

    private void number() {
        take('-');
        if (!take('0')) {
            digits();
        }
        if (take('.')) {
            digits();
        }
        if (take('e') || take('E')) {
            if (!take('-')) {
                take('+');
            }
            digits();
        }
    }

    private void digits() {
        int begin = position;
        while (position < text.length() && isDigit(text.charAt(position))) {
            position++;
        }
        if (position == begin) {
            throw unexpected();
        }
    }

    private static boolean isDigit(char c) {
        return '0' <= c && c <= '9';
    }

    private void literal(String word) {
        if (!text.startsWith(word, position)) {
            throw unexpected();
        }
        position += word.length();
    }

    private void skipSpace() {
        while (position < text.length() && " \t\r\n".indexOf(text.charAt(position)) >= 0) {
            position++;
        }
    }

    private char peek() {
        if (position == text.length()) {
            throw unexpected();
        }
        return text.charAt(position);
    }

    private char next() {
        char c = peek();
        position++;
        return c;
    }

    private boolean take(char c) {
        boolean found = position < text.length() && text.charAt(position) == c;
        if (found) {
            position++;
        }
        return found;
    }

    private void expect(char c) {
        if (!take(c)) {
            throw unexpected();
        }
    }

    private IllegalArgumentException unexpected() {
        return new IllegalArgumentException("no JSON at character " + position);
    }
}
