package org.horovod4j.launcher.file;

import org.horovod4j.ConfigurationException;
import org.horovod4j.text.MessageText;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.composer.Composer;
import org.snakeyaml.engine.v2.events.CollectionEndEvent;
import org.snakeyaml.engine.v2.events.CollectionStartEvent;
import org.snakeyaml.engine.v2.events.Event;
import org.snakeyaml.engine.v2.exceptions.Mark;
import org.snakeyaml.engine.v2.exceptions.MarkedYamlEngineException;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.NodeTuple;
import org.snakeyaml.engine.v2.nodes.ScalarNode;
import org.snakeyaml.engine.v2.nodes.SequenceNode;
import org.snakeyaml.engine.v2.nodes.Tag;
import org.snakeyaml.engine.v2.parser.ParserImpl;
import org.snakeyaml.engine.v2.scanner.StreamReader;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Optional;
import java.util.SequencedMap;

/// Reads a YAML file whose top level is a mapping.
///
/// Uses only the composer of the library, which builds a tree with line numbers and no objects.
public final class YamlFile {
    /// More nodes than any settings file has. An alias is expanded to a copy, so a few lines with
    /// aliases of aliases could expand to billions of nodes.
    private static final int MAX_NODES = 10_000;

    /// Deeper than any settings file. The composer and this class recurse at each level.
    private static final int MAX_DEPTH = 100;

    private final Path file;
    private int nodes;

    private YamlFile(Path file) {
        this.file = file;
    }

    /// The top level of a file.
    ///
    /// @throws ConfigurationException if it cannot be read, or is not YAML of this form
    public static YamlNode.Mapping read(Path file) {
        return new YamlFile(file).parse(TextFile.read("", file));
    }

    private YamlNode.Mapping parse(String text) {
        YamlNode.Location start = new YamlNode.Location(file, 1, "");
        try {
            LoadSettings settings = LoadSettings.builder().build();
            checkDepth(new ParserImpl(settings, new StreamReader(settings, text)), start);
            ParserImpl parser = new ParserImpl(settings, new StreamReader(settings, text));
            Optional<Node> root = new Composer(settings, parser).getSingleNode();
            return root.<YamlNode>map(node -> convert(node, start.atLine(line(node))))
                    .orElseGet(() -> new YamlNode.Empty(start))
                    .asMapping();
        } catch (MarkedYamlEngineException e) {
            int line = e.getProblemMark().map(Mark::getLine).orElse(0) + 1;
            throw new ConfigurationException(
                    "%s: not valid YAML: %s Check indentation, colons and quotes there."
                            .formatted(start.atLine(line), MessageText.sentence(e.getProblem())),
                    e);
        } catch (YamlEngineException e) {
            throw new ConfigurationException(
                    "%s: not valid YAML: %s".formatted(start, e.getMessage()), e);
        }
    }

    private static void checkDepth(ParserImpl parser, YamlNode.Location start) {
        int depth = 0;
        while (parser.hasNext()) {
            Event event = parser.next();
            if (event instanceof CollectionStartEvent && ++depth > MAX_DEPTH) {
                int line = event.getStartMark().map(Mark::getLine).orElse(0) + 1;
                throw start.atLine(line)
                        .error("is nested more than %d levels deep.".formatted(MAX_DEPTH));
            } else if (event instanceof CollectionEndEvent) {
                depth--;
            }
        }
    }

    private YamlNode convert(Node node, YamlNode.Location location) {
        nodes++;
        if (nodes > MAX_NODES || node.isRecursive()) {
            throw location.error("aliases make it too large. Write the values out.");
        }
        return switch (node) {
            case ScalarNode scalar when scalar.getTag().equals(Tag.NULL) ->
                    new YamlNode.Empty(location);
            case ScalarNode scalar -> new YamlNode.Scalar(location, scalar.getValue());
            case SequenceNode sequence ->
                    new YamlNode.Sequence(location, items(sequence, location));
            case MappingNode mapping -> mapping(mapping, location);
            default -> throw location.error("this kind of YAML is not supported.");
        };
    }

    private List<YamlNode> items(SequenceNode sequence, YamlNode.Location location) {
        return sequence.getValue().stream()
                .map(item -> convert(item, location.atLine(line(item))))
                .toList();
    }

    private YamlNode.Mapping mapping(MappingNode mapping, YamlNode.Location location) {
        SequencedMap<String, YamlNode> entries = new LinkedHashMap<>();
        for (NodeTuple tuple : mapping.getValue()) {
            int line = line(tuple.getKeyNode());
            if (!(tuple.getKeyNode() instanceof ScalarNode key)) {
                throw location.atLine(line).error("a key must be one word.");
            }
            YamlNode.Location keyLocation = location.child(key.getValue(), line);
            YamlNode before =
                    entries.put(key.getValue(), convert(tuple.getValueNode(), keyLocation));
            if (before != null) {
                throw keyLocation.error(
                        "is already in line %d.".formatted(before.location().line()));
            }
        }
        return new YamlNode.Mapping(location, entries);
    }

    private static int line(Node node) {
        return node.getStartMark().map(Mark::getLine).orElse(0) + 1;
    }
}
