package org.horovod4j.benchmarks.report;

import java.util.ArrayList;
import java.util.List;
import java.util.StringJoiner;

/// A Markdown table with aligned columns, readable in a terminal. The first row is the header.
public final class Table {
    private final List<List<String>> rows = new ArrayList<>();

    public Table(List<String> heading) {
        rows.add(List.copyOf(heading));
    }

    public void add(List<String> row) {
        if (row.size() != rows.getFirst().size()) {
            throw new IllegalArgumentException(
                    "%d cells under %d headings".formatted(row.size(), rows.getFirst().size()));
        }
        rows.add(List.copyOf(row));
    }

    public String toMarkdown() {
        int[] widths = widths();
        StringBuilder text = new StringBuilder();
        text.append(line(rows.getFirst(), widths)).append(rule(widths));
        rows.stream().skip(1).map(row -> line(row, widths)).forEach(text::append);
        return text.toString();
    }

    private int[] widths() {
        int[] widths = new int[rows.getFirst().size()];
        for (List<String> row : rows) {
            for (int column = 0; column < widths.length; column++) {
                widths[column] = Math.max(widths[column], row.get(column).length());
            }
        }
        return widths;
    }

    private static String line(List<String> row, int[] widths) {
        StringJoiner line = new StringJoiner(" | ", "| ", " |\n");
        for (int column = 0; column < widths.length; column++) {
            String cell = row.get(column);
            line.add(" ".repeat(widths[column] - cell.length()) + cell);
        }
        return line.toString();
    }

    private static String rule(int[] widths) {
        StringJoiner rule = new StringJoiner("|", "|", "|\n");
        for (int width : widths) {
            rule.add("-".repeat(width + 1) + ":");
        }
        return rule.toString();
    }
}
