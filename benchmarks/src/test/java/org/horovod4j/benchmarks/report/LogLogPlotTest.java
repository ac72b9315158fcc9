package org.horovod4j.benchmarks.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;

import org.horovod4j.benchmarks.report.LogLogPlot.Line;
import org.horovod4j.benchmarks.report.LogLogPlot.Panel;
import org.horovod4j.benchmarks.report.LogLogPlot.Point;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import javax.xml.parsers.DocumentBuilderFactory;

class LogLogPlotTest {
    private static final Panel PANEL =
            new Panel(
                    "2 processes & <shm>",
                    List.of(
                            new Line(
                                    "ours",
                                    false,
                                    List.of(
                                            new Point(4, 1),
                                            new Point(1024, 10),
                                            new Point(1 << 18, 100))),
                            new Line("peer", true, List.of(new Point(4, 10)))));

    @Test
    void isWellFormedWithALineForEachProgram() throws Exception {
        Document svg = parse(new LogLogPlot(List.of(PANEL, PANEL)));

        assertThat(svg.getDocumentElement().getTagName()).isEqualTo("svg");
        assertThat(elements(svg, "g")).hasSize(2);
        assertThat(elements(svg, "text").map(Element::getTextContent))
                .contains(
                        "2 processes & <shm>", "ours", "peer", "4 B", "256 KiB", "1 µs", "100 µs");
        assertThat(elements(svg, "polyline").map(line -> line.hasAttribute("stroke-dasharray")))
                .containsExactly(false, true, false, true);
        assertThat(elements(svg, "circle")).hasSize(8);
    }

    @Test
    void equalFactorsAreEqualDistances() throws Exception {
        List<Element> circles = elements(parse(new LogLogPlot(List.of(PANEL))), "circle").toList();

        // From 4 B to 1 KiB to 256 KiB, and from 1 to 10 to 100 µs, which is upwards.
        for (String axis : List.of("cx", "cy")) {
            double first = number(circles.get(0), axis);
            double second = number(circles.get(1), axis);
            double third = number(circles.get(2), axis);
            assertThat(third - second).isCloseTo(second - first, within(0.2));
        }
        assertThat(number(circles.get(0), "cx")).isLessThan(number(circles.get(2), "cx"));
        assertThat(number(circles.get(0), "cy")).isGreaterThan(number(circles.get(2), "cy"));
        // The same size is above the same position, the same time beside the same.
        assertThat(number(circles.get(3), "cx")).isEqualTo(number(circles.get(0), "cx"));
        assertThat(number(circles.get(3), "cy")).isEqualTo(number(circles.get(1), "cy"));
    }

    @Test
    void onePointAndNoPointsAreWellFormed() throws Exception {
        Panel one = new Panel("one", List.of(new Line("ours", false, List.of(new Point(4, 1)))));
        Panel none = new Panel("none", List.of(new Line("ours", false, List.of())));

        Document svg = parse(new LogLogPlot(List.of(one, none)));

        assertThat(elements(svg, "circle"))
                .singleElement()
                .satisfies(circle -> assertThat(number(circle, "cx")).isFinite());
    }

    @Test
    void valuesWithoutALogarithmAreRejected() {
        assertThatIllegalArgumentException().isThrownBy(() -> new Point(0, 1));
        assertThatIllegalArgumentException().isThrownBy(() -> new Point(4, 0));
    }

    private static double number(Element element, String attribute) {
        return Double.parseDouble(element.getAttribute(attribute));
    }

    private static Stream<Element> elements(Document document, String tag) {
        NodeList nodes = document.getElementsByTagName(tag);
        return IntStream.range(0, nodes.getLength()).mapToObj(i -> (Element) nodes.item(i));
    }

    private static Document parse(LogLogPlot plot) throws Exception {
        return DocumentBuilderFactory.newInstance()
                .newDocumentBuilder()
                .parse(new ByteArrayInputStream(plot.toSvg().getBytes(StandardCharsets.UTF_8)));
    }
}
