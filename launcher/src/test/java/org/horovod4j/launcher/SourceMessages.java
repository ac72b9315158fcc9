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

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Stream;

import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/// Messages in Java sources, read from the syntax tree. A message that is concatenated or formatted counts as one text with gaps.
final class SourceMessages {
    /// Exceptions whose text reaches no user: a peer sent bytes that we do not understand, or the code has a bug.
    private static final Set<String> INTERNAL_EXCEPTIONS =
            Set.of(
                    "AssertionError",
                    "CodecException",
                    "IllegalThreadStateException",
                    "MalformedMessageException",
                    "NoSuchElementException");

    /// Exceptions about a wrong call. The launcher throws them only for its own bugs.
    private static final Set<String> ARGUMENT_EXCEPTIONS =
            Set.of("IllegalStateException", "IllegalArgumentException");

    private SourceMessages() {}

    /// Messages of exceptions that the launcher, or a rank that starts, reports to its user.
    static List<MessageTemplate> ofExceptions(List<Path> folders) {
        Set<String> ignored = new HashSet<>(INTERNAL_EXCEPTIONS);
        ignored.addAll(ARGUMENT_EXCEPTIONS);
        return find(folders, type -> isException(type) && !ignored.contains(type));
    }

    /// Messages of exceptions that a library throws to the program that calls it, wrong arguments included.
    static List<MessageTemplate> ofLibraryExceptions(List<Path> folders) {
        return find(folders, type -> isException(type) && !INTERNAL_EXCEPTIONS.contains(type));
    }

    /// All texts of several words.
    static List<MessageTemplate> all(List<Path> folders) {
        return find(folders, null);
    }

    private static boolean isException(String type) {
        return type.endsWith("Exception") || type.endsWith("Error");
    }

    /// @param exceptions which exceptions' messages count; null for all texts
    private static List<MessageTemplate> find(
            List<Path> folders, @Nullable Predicate<String> exceptions) {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
            List<Path> sources = folders.stream().flatMap(SourceMessages::javaFiles).toList();
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
                new TextScanner(file, exceptions, found).scan(unit, null);
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
        private final @Nullable Predicate<String> exceptions;
        private final List<MessageTemplate> found;
        private int exceptionDepth;

        TextScanner(
                String file, @Nullable Predicate<String> exceptions, List<MessageTemplate> found) {
            this.file = file;
            this.exceptions = exceptions;
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
        public Void visitNewClass(NewClassTree made, Void unused) {
            boolean counts = exceptions != null && exceptions.test(nameOf(made.getIdentifier()));
            exceptionDepth += counts ? 1 : 0;
            super.visitNewClass(made, null);
            exceptionDepth -= counts ? 1 : 0;
            return null;
        }

        private void note(ExpressionTree text) {
            MessageTemplate template = new MessageTemplate(file, folded(text));
            if (template.isSentence() && (exceptions == null || exceptionDepth > 0)) {
                found.add(template);
            }
        }

        /// The parts of a concatenation that are not literals may contain further texts.
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

        private static String nameOf(Tree tree) {
            return switch (tree) {
                case IdentifierTree name -> name.getName().toString();
                case MemberSelectTree member -> member.getIdentifier().toString();
                default -> "";
            };
        }
    }
}
