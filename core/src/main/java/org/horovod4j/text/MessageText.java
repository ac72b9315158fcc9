package org.horovod4j.text;

/// Parts of messages.
public final class MessageText {
    private MessageText() {}

    /// A number with its noun, as in "1 worker", "2 workers", "3 processes".
    ///
    /// @param noun in the singular
    public static String count(long number, String noun) {
        String ending = number == 1 ? "" : noun.endsWith("s") ? "es" : "s";
        return number + " " + noun + ending;
    }

    /// A text as a sentence: it gets a full stop unless it ends with one. Texts of programs and of
    /// other products may have their own.
    public static String sentence(String text) {
        String stripped = text.stripTrailing();
        return stripped.matches("(?s).*[.!?…]") ? stripped : stripped + ".";
    }
}
