package org.horovod4j.launcher.yaml;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.file.TextFile;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.composer.Composer;
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

/// Reads a file whose outermost level is keys with values.
///
/// Only the library's first step is used, which makes a tree with line numbers and builds no
/// objects.
public final class YamlFile {
    /// More than any file of settings has. An alias stands for a copy here, so that a few lines of
    /// aliases of aliases could mean billions.
    private static final int MAX_NODES = 10_000;

    private final Path file;
    private int nodes;

    private YamlFile(Path file) {
        this.file = file;
    }

    /// The outermost level of a file.
    ///
    /// @throws ConfigurationException when it cannot be read, or is no YAML of this form
    public static YamlNode.Mapping read(Path file) {
        return new YamlFile(file).parse(TextFile.read("", file));
    }

    private YamlNode.Mapping parse(String text) {
        YamlLocation start = new YamlLocation(file, 1, "");
        try {
            LoadSettings settings = LoadSettings.builder().build();
            ParserImpl parser = new ParserImpl(settings, new StreamReader(settings, text));
            Optional<Node> root = new Composer(settings, parser).getSingleNode();
            return root.<YamlNode>map(node -> convert(node, start.atLine(line(node))))
                    .orElseGet(() -> new YamlNode.Empty(start))
                    .asMapping();
        } catch (MarkedYamlEngineException e) {
            int line = e.getProblemMark().map(Mark::getLine).orElse(0) + 1;
            throw new ConfigurationException(
                    "%s: not valid YAML: %s. Check indentation, colons and quotes there."
                            .formatted(start.atLine(line), e.getProblem()),
                    e);
        } catch (YamlEngineException e) {
            throw new ConfigurationException(
                    "%s: not valid YAML: %s".formatted(start, e.getMessage()), e);
        }
    }

    private YamlNode convert(Node node, YamlLocation yamlLocation) {
        nodes++;
        if (nodes > MAX_NODES || node.isRecursive()) {
            throw yamlLocation.error("aliases make it too large. Write the values out.");
        }
        return switch (node) {
            case ScalarNode scalar when scalar.getTag().equals(Tag.NULL) ->
                    new YamlNode.Empty(yamlLocation);
            case ScalarNode scalar -> new YamlNode.Scalar(yamlLocation, scalar.getValue());
            case SequenceNode sequence ->
                    new YamlNode.Sequence(yamlLocation, items(sequence, yamlLocation));
            case MappingNode mapping -> mapping(mapping, yamlLocation);
            default -> throw yamlLocation.error("this kind of YAML is not understood.");
        };
    }

    private List<YamlNode> items(SequenceNode sequence, YamlLocation yamlLocation) {
        return sequence.getValue().stream()
                .map(item -> convert(item, yamlLocation.atLine(line(item))))
                .toList();
    }

    private YamlNode.Mapping mapping(MappingNode mapping, YamlLocation yamlLocation) {
        SequencedMap<String, YamlNode> entries = new LinkedHashMap<>();
        for (NodeTuple tuple : mapping.getValue()) {
            int line = line(tuple.getKeyNode());
            if (!(tuple.getKeyNode() instanceof ScalarNode key)) {
                throw yamlLocation.atLine(line).error("a key must be one word.");
            }
            YamlLocation place = yamlLocation.child(key.getValue(), line);
            YamlNode before = entries.put(key.getValue(), convert(tuple.getValueNode(), place));
            if (before != null) {
                throw place.error("is in line %d already.".formatted(before.location().line()));
            }
        }
        return new YamlNode.Mapping(yamlLocation, entries);
    }

    private static int line(Node node) {
        return node.getStartMark().map(Mark::getLine).orElse(0) + 1;
    }
}
