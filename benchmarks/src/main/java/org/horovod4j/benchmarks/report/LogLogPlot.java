package org.horovod4j.benchmarks.report;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/// An SVG image of panels, one below the other. Each panel shows times over sizes, both on
/// logarithmic axes.
public final class LogLogPlot {
    private static final int WIDTH = 900;
    private static final int PANEL_HEIGHT = 420;
    private static final int LEFT = 80;
    private static final int RIGHT = 640;
    private static final int TOP = 50;
    private static final int BOTTOM = 360;
    private static final int LEGEND = 665;
    private static final int LEGEND_LINE = 20;

    /// Distinguishable by colour-blind readers too (Okabe and Ito).
    private static final List<String> COLORS =
            List.of(
                    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000",
                    "#999999");

    private final List<Panel> panels;

    /// Lines in one pair of axes.
    public record Panel(String title, List<Line> lines) {
        public Panel {
            lines = List.copyOf(lines);
        }
    }

    /// The times of one program.
    ///
    /// @param dashed to tell two kinds of programs apart
    public record Line(String name, boolean dashed, List<Point> points) {
        public Line {
            points = List.copyOf(points);
        }
    }

    /// A size and its time. Logarithmic axes need positive values.
    public record Point(long byteSize, double micros) {
        public Point {
            if (byteSize <= 0 || micros <= 0) {
                throw new IllegalArgumentException(
                        "%s µs for %d bytes cannot be on logarithmic axes"
                                .formatted(micros, byteSize));
            }
        }
    }

    public LogLogPlot(List<Panel> panels) {
        this.panels = List.copyOf(panels);
    }

    public String toSvg() {
        StringBuilder svg = new StringBuilder();
        int height = panels.size() * PANEL_HEIGHT;
        svg.append(
                """
                <svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" \
                font-family="sans-serif" font-size="12">
                <rect width="%d" height="%d" fill="white"/>
                """
                        .formatted(WIDTH, height, WIDTH, height, WIDTH, height));
        for (int i = 0; i < panels.size(); i++) {
            svg.append("<g transform=\"translate(0 %d)\">\n".formatted(i * PANEL_HEIGHT));
            append(panels.get(i), svg);
            svg.append("</g>\n");
        }
        return svg.append("</svg>\n").toString();
    }

    private static void append(Panel panel, StringBuilder svg) {
        svg.append(
                """
                <text x="%d" y="30" font-size="16">%s</text>
                <rect x="%d" y="%d" width="%d" height="%d" fill="none" stroke="black"/>
                """
                        .formatted(
                                LEFT,
                                escape(panel.title()),
                                LEFT,
                                TOP,
                                RIGHT - LEFT,
                                BOTTOM - TOP));
        List<Point> points = panel.lines().stream().flatMap(l -> l.points().stream()).toList();
        if (points.isEmpty()) {
            return;
        }
        Axis sizes = Axis.of(2, LEFT, RIGHT, points.stream().map(p -> (double) p.byteSize()));
        Axis times = Axis.of(10, BOTTOM, TOP, points.stream().map(Point::micros));
        appendSizeTicks(sizes, svg);
        appendTimeTicks(times, svg);
        for (int i = 0; i < panel.lines().size(); i++) {
            append(panel.lines().get(i), i, sizes, times, svg);
        }
    }

    private static void appendSizeTicks(Axis sizes, StringBuilder svg) {
        // At most some ten labels fit side by side.
        int step = Math.max(1, Math.ceilDiv(sizes.last() - sizes.first(), 10));
        for (int exponent = sizes.first(); exponent <= sizes.last(); exponent += step) {
            double x = sizes.position(exponent);
            svg.append(
                    String.format(
                            Locale.ROOT,
                            """
                            <line x1="%1$.1f" y1="%2$d" x2="%1$.1f" y2="%3$d" stroke="#dddddd"/>
                            <text x="%1$.1f" y="%4$d" text-anchor="middle">%5$s</text>
                            """,
                            x,
                            TOP,
                            BOTTOM,
                            BOTTOM + 18,
                            Units.bytes(1L << exponent)));
        }
    }

    private static void appendTimeTicks(Axis times, StringBuilder svg) {
        for (int exponent = times.first(); exponent <= times.last(); exponent++) {
            double y = times.position(exponent);
            svg.append(
                    String.format(
                            Locale.ROOT,
                            """
                            <line x1="%2$d" y1="%1$.1f" x2="%3$d" y2="%1$.1f" stroke="#dddddd"/>
                            <text x="%4$d" y="%5$.1f" text-anchor="end">%6$s</text>
                            """,
                            y,
                            LEFT,
                            RIGHT,
                            LEFT - 6,
                            y + 4,
                            timeLabel(exponent)));
        }
    }

    private static String timeLabel(int exponent) {
        if (exponent >= 6) {
            return "%d s".formatted(Math.round(Math.pow(10, exponent - 6)));
        }
        if (exponent >= 3) {
            return "%d ms".formatted(Math.round(Math.pow(10, exponent - 3)));
        }
        return exponent >= 0
                ? "%d µs".formatted(Math.round(Math.pow(10, exponent)))
                : "%d ns".formatted(Math.round(Math.pow(10, exponent + 3)));
    }

    private static void append(Line line, int index, Axis sizes, Axis times, StringBuilder svg) {
        String color = COLORS.get(index % COLORS.size());
        String style = line.dashed() ? " stroke-dasharray=\"6 4\"" : "";
        List<String> corners = new ArrayList<>();
        StringBuilder marks = new StringBuilder();
        for (Point point : line.points()) {
            double x = sizes.of((double) point.byteSize());
            double y = times.of(point.micros());
            corners.add(String.format(Locale.ROOT, "%.1f,%.1f", x, y));
            marks.append(
                    String.format(
                            Locale.ROOT,
                            "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\">"
                                    + "<title>%s, %s: %.2f µs</title></circle>\n",
                            x,
                            y,
                            color,
                            escape(line.name()),
                            Units.bytes(point.byteSize()),
                            point.micros()));
        }
        int y = TOP + 10 + index * LEGEND_LINE;
        svg.append(
                String.format(
                        Locale.ROOT,
                        """
                        <polyline fill="none" stroke="%1$s" stroke-width="2"%2$s points="%3$s"/>
                        %4$s<line x1="%5$d" y1="%6$d" x2="%7$d" y2="%6$d" stroke="%1$s" stroke-width="2"%2$s/>
                        <text x="%8$d" y="%9$d">%10$s</text>
                        """,
                        color,
                        style,
                        String.join(" ", corners),
                        marks,
                        LEGEND,
                        y,
                        LEGEND + 30,
                        LEGEND + 38,
                        y + 4,
                        escape(line.name())));
    }

    /// A logarithmic axis between two whole exponents.
    private record Axis(double base, int first, int last, int start, int end) {
        static Axis of(double base, int start, int end, Stream<Double> values) {
            List<Double> exponents = values.map(v -> Math.log(v) / Math.log(base)).toList();
            int first = (int) Math.floor(exponents.stream().min(Double::compare).orElseThrow());
            int last = (int) Math.ceil(exponents.stream().max(Double::compare).orElseThrow());
            return new Axis(base, first, Math.max(last, first + 1), start, end);
        }

        double of(double value) {
            return position(Math.log(value) / Math.log(base));
        }

        double position(double exponent) {
            return start + (exponent - first) / (last - first) * (end - start);
        }
    }

    private static String escape(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
    }
}
