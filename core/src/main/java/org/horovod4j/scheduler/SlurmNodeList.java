package org.horovod4j.scheduler;

import org.horovod4j.ConfigurationException;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// Lists in Slurm's notation: hosts as `n[1-2,07-09],gpu`, counts as `2(x3),1`.
final class SlurmNodeList {
    /// More than any cluster has. A longer list is malformed.
    private static final int MAX_HOSTS = 1_000_000;

    private static final Pattern RANGE = Pattern.compile("(\\d{1,9})(?:-(\\d{1,9}))?");
    private static final Pattern COUNT = Pattern.compile("(\\d{1,6})(?:\\(x(\\d{1,6})\\))?");

    private SlurmNodeList() {}

    /// The names of the hosts, in order. Several brackets in one name multiply: `r[1-2]n[1-2]` is
    /// four hosts.
    static List<String> names(String text) {
        List<String> names = new ArrayList<>();
        for (String item : items(text)) {
            names.addAll(expand(item, text));
        }
        if (names.isEmpty() || names.contains("")) {
            throw malformed(text);
        }
        return List.copyOf(names);
    }

    /// The counts, one for each node.
    static List<Integer> counts(String text) {
        List<Integer> counts = new ArrayList<>();
        for (String item : text.split(",", -1)) {
            Matcher count = COUNT.matcher(item);
            if (!count.matches()) {
                throw malformed(text);
            }
            int times = count.group(2) == null ? 1 : Integer.parseInt(count.group(2));
            counts.addAll(Collections.nCopies(times, Integer.valueOf(count.group(1))));
        }
        return List.copyOf(counts);
    }

    /// Splits at the commas that are outside brackets.
    private static List<String> items(String text) {
        List<String> items = new ArrayList<>();
        int start = 0;
        int depth = 0;
        for (int at = 0; at < text.length(); at++) {
            switch (text.charAt(at)) {
                case '[' -> depth++;
                case ']' -> depth--;
                case ',' -> {
                    if (depth == 0) {
                        items.add(text.substring(start, at));
                        start = at + 1;
                    }
                }
                default -> {}
            }
            if (depth < 0 || depth > 1) {
                throw malformed(text);
            }
        }
        if (depth != 0) {
            throw malformed(text);
        }
        items.add(text.substring(start));
        return items;
    }

    private static List<String> expand(String item, String text) {
        int open = item.indexOf('[');
        if (open < 0) {
            return List.of(item);
        }
        int close = item.indexOf(']', open);
        List<String> ends = expand(item.substring(close + 1), text);
        List<String> names = new ArrayList<>();
        for (String number : numbers(item.substring(open + 1, close), text)) {
            for (String end : ends) {
                names.add(item.substring(0, open) + number + end);
            }
            if (names.size() > MAX_HOSTS) {
                throw malformed(text);
            }
        }
        return names;
    }

    /// Expands `1-2,07-09`, with the leading zeros of the first number of each range.
    private static List<String> numbers(String ranges, String text) {
        List<String> numbers = new ArrayList<>();
        for (String part : ranges.split(",", -1)) {
            Matcher range = RANGE.matcher(part);
            if (!range.matches()) {
                throw malformed(text);
            }
            String first = range.group(1);
            int last = Integer.parseInt(range.group(2) == null ? first : range.group(2));
            int from = Integer.parseInt(first);
            if (last < from || last - from >= MAX_HOSTS) {
                throw malformed(text);
            }
            for (int number = from; number <= last; number++) {
                numbers.add(
                        "0".repeat(Math.max(0, first.length() - Integer.toString(number).length()))
                                + number);
            }
        }
        return numbers;
    }

    private static ConfigurationException malformed(String text) {
        return new ConfigurationException(
                "'%s' is not a Slurm list such as n[1-2,07-09] or 2(x3),1. Set HOROVOD_RANK and"
                                .formatted(text)
                        + " HOROVOD_SIZE, which take precedence over Slurm's variables.");
    }
}
