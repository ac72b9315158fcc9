package org.horovod4j.launcher;

import com.sun.source.tree.BinaryTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.ExpressionTree;
import com.sun.source.tree.IdentifierTree;
import com.sun.source.tree.LiteralTree;
import com.sun.source.tree.MemberSelectTree;
import com.sun.source.tree.MethodInvocationTree;
import com.sun.source.tree.NewClassTree;
import com.sun.source.tree.ParenthesizedTree;
import com.sun.source.tree.Tree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.TreeScanner;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/// The texts in Java sources that a user may get to read when something is wrong: every string of some
/// words, put together where it stands in parts, whatever becomes of it later. So nothing escapes that
/// is handed on before it is thrown or printed; what is no complaint is left out by who takes it.
final class SourceMessages {
    /// What takes texts that are no messages, by the name of a method or a class.
    private static final Set<String> NON_MESSAGE_CONSUMERS =
            Set.of(
                    "help", // of an option
                    "explain", // a step, with --verbose
                    "verbose",
                    "debug",
                    "matches",
                    "compile",
                    "MalformedMessageException", // of a peer that is not ours, told in our words
                    "CodecException",
                    "IllegalThreadStateException",
                    "AssertionError");

    /// What takes words about calls that make no sense: where programs do not call, our own mistakes.
    private static final Set<String> ARGUMENT_EXCEPTIONS =
            Set.of("IllegalStateException", "IllegalArgumentException");

    private static final Set<String> QUIET_LEVELS = Set.of("DEBUG", "INFO", "TRACE");

    private SourceMessages() {}

    /// Those that say what is wrong, in all sources below these folders but for files of these names.
    static List<MessageTemplate> errorMessages(List<Path> folders, Set<String> leftOut) {
        Set<String> others = new HashSet<>(NON_MESSAGE_CONSUMERS);
        others.addAll(ARGUMENT_EXCEPTIONS);
        return of(folders, leftOut, others);
    }

    /// Those too that refuse a call.
    static List<MessageTemplate> errorMessagesAndRefusals(List<Path> folders, Set<String> leftOut) {
        return of(folders, leftOut, NON_MESSAGE_CONSUMERS);
    }

    /// All texts of some words, whoever gets them.
    static List<MessageTemplate> all(List<Path> folders) {
        return of(folders, Set.of(), Set.of());
    }

    private static List<MessageTemplate> of(
            List<Path> folders, Set<String> leftOut, Set<String> otherTakers) {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
            List<Path> sources =
                    folders.stream()
                            .flatMap(SourceMessages::javaFiles)
                            .filter(file -> !leftOut.contains(file.getFileName().toString()))
                            .toList();
            JavacTask task =
                    (JavacTask)
                            compiler.getTask(
                                    null,
                                    files,
                                    null,
                                    List.of("-proc:none"),
                                    null,
                                    files.getJavaFileObjectsFromPaths(sources));
            List<MessageTemplate> found = new ArrayList<>();
            for (CompilationUnitTree unit : task.parse()) {
                String file = Path.of(unit.getSourceFile().getName()).getFileName().toString();
                new TextScanner(file, otherTakers, found).scan(unit, null);
            }
            return found.stream().distinct().toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Stream<Path> javaFiles(Path folder) {
        try (Stream<Path> files = Files.walk(folder)) {
            return files.filter(file -> file.toString().endsWith(".java")).toList().stream();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static final class TextScanner extends TreeScanner<Void, Void> {
        private final String file;
        private final Set<String> ignoredConsumers;
        private final List<MessageTemplate> found;

        TextScanner(String file, Set<String> ignoredConsumers, List<MessageTemplate> found) {
            this.file = file;
            this.ignoredConsumers = ignoredConsumers;
            this.found = found;
        }

        @Override
        public Void visitLiteral(LiteralTree literal, Void unused) {
            note(literal);
            return null;
        }

        @Override
        public Void visitBinary(BinaryTree sum, Void unused) {
            if (sum.getKind() != Tree.Kind.PLUS) {
                return super.visitBinary(sum, null);
            }
            note(sum);
            return scanGaps(sum);
        }

        @Override
        public Void visitMethodInvocation(MethodInvocationTree call, Void unused) {
            if (ignoredConsumers.contains(nameOf(call.getMethodSelect())) || isQuietLog(call)) {
                return null;
            }
            return super.visitMethodInvocation(call, null);
        }

        @Override
        public Void visitNewClass(NewClassTree made, Void unused) {
            return ignoredConsumers.contains(nameOf(made.getIdentifier()))
                    ? null
                    : super.visitNewClass(made, null);
        }

        private void note(ExpressionTree text) {
            MessageTemplate template = new MessageTemplate(file, folded(text));
            if (template.isSentence()) {
                found.add(template);
            }
        }

        /// What stands between the parts of a sum may have texts of its own.
        private Void scanGaps(ExpressionTree part) {
            switch (part) {
                case BinaryTree sum when sum.getKind() == Tree.Kind.PLUS -> {
                    scanGaps(sum.getLeftOperand());
                    scanGaps(sum.getRightOperand());
                }
                case LiteralTree _ -> {}
                case MethodInvocationTree call when isFormatting(call) ->
                        scan(call.getArguments(), null);
                default -> scan(part, null);
            }
            return null;
        }

        private static String folded(ExpressionTree part) {
            return switch (part) {
                case LiteralTree literal -> String.valueOf(literal.getValue());
                case ParenthesizedTree inner -> folded(inner.getExpression());
                case BinaryTree sum when sum.getKind() == Tree.Kind.PLUS ->
                        folded(sum.getLeftOperand()) + folded(sum.getRightOperand());
                case MethodInvocationTree call when isFormatting(call) ->
                        folded(((MemberSelectTree) call.getMethodSelect()).getExpression());
                default -> MessageTemplate.GAP;
            };
        }

        private static boolean isFormatting(MethodInvocationTree call) {
            return nameOf(call.getMethodSelect()).equals("formatted");
        }

        private boolean isQuietLog(MethodInvocationTree call) {
            return !ignoredConsumers.isEmpty()
                    && nameOf(call.getMethodSelect()).equals("log")
                    && !call.getArguments().isEmpty()
                    && QUIET_LEVELS.contains(nameOf(call.getArguments().getFirst()));
        }

        private static String nameOf(Tree tree) {
            return switch (tree) {
                case IdentifierTree name -> name.getName().toString();
                case MemberSelectTree member -> member.getIdentifier().toString();
                default -> "";
            };
        }
    }
}
