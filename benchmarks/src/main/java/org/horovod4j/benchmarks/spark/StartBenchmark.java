package org.horovod4j.benchmarks.spark;

import org.apache.spark.BarrierTaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;
import org.horovod4j.spark.HvdSpark;

import scala.collection.Iterator;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction1;

import java.io.IOException;
import java.io.Serializable;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Random;

/// Times `HvdSpark.run` with a function that does nothing, beside the barrier stage of which it
/// consists. They take turns in one application.
///
/// Arguments: the number of ranks, the number of rounds, and the seed of their order.
public final class StartBenchmark {
    private StartBenchmark() {}

    private enum Program {
        STAGE("barrier stage without Horovod4J"),
        BARRIER("barrier stage that calls barrier()"),
        RUN("HvdSpark.run"),
        PROCESSES("HvdSpark.run with processes()");

        private final String title;

        Program(String title) {
            this.title = title;
        }
    }

    /// A task of a barrier stage.
    private static final class Task extends AbstractFunction1<Iterator<Integer>, Iterator<Integer>>
            implements Serializable {
        private static final long serialVersionUID = 1L;

        private final boolean callsBarrier;

        Task(boolean callsBarrier) {
            this.callsBarrier = callsBarrier;
        }

        @Override
        public Iterator<Integer> apply(Iterator<Integer> rows) {
            if (callsBarrier) {
                BarrierTaskContext.get().barrier();
            }
            return rows;
        }
    }

    public static void main(String[] arguments) throws IOException {
        int ranks = Integer.parseInt(arguments[0]);
        int rounds = Integer.parseInt(arguments[1]);
        Random random = new Random(Long.parseLong(arguments[2]));
        List<List<Double>> seconds = new ArrayList<>();
        try (SparkSession spark = SparkSession.builder().appName("start").getOrCreate()) {
            // Waits for the executors.
            HvdSpark.ranks(spark, ranks).startTimeout(Duration.ofMinutes(2)).execute(_ -> {});
            for (Program program : Program.values()) {
                seconds.add(new ArrayList<>());
                run(spark, program, ranks); // loads classes
            }
            List<Program> order = new ArrayList<>(List.of(Program.values()));
            for (int round = 0; round < rounds; round++) {
                Collections.shuffle(order, random);
                for (Program program : order) {
                    seconds.get(program.ordinal()).add(run(spark, program, ranks));
                }
            }
        }
        print(seconds);
    }

    private static double run(SparkSession spark, Program program, int ranks) {
        long start = System.nanoTime();
        switch (program) {
            case STAGE -> stage(spark, new Task(false), ranks);
            case BARRIER -> stage(spark, new Task(true), ranks);
            case RUN -> HvdSpark.execute(spark, ranks, _ -> {});
            case PROCESSES -> HvdSpark.ranks(spark, ranks).processes().execute(_ -> {});
        }
        return (System.nanoTime() - start) / 1e9;
    }

    private static void stage(SparkSession spark, Task task, int ranks) {
        List<Integer> rows =
                JavaSparkContext.fromSparkContext(spark.sparkContext())
                        .parallelize(Collections.nCopies(ranks, 0), ranks)
                        .rdd()
                        .barrier()
                        .mapPartitions(task, false, ClassTag$.MODULE$.<Integer>apply(Integer.class))
                        .toJavaRDD()
                        .collect();
        if (rows.size() != ranks) {
            throw new IllegalStateException("the stage returned " + rows.size() + " rows");
        }
    }

    private static void print(List<List<Double>> seconds) {
        System.out.println("| Program | s, median [least..greatest] | more than the stage alone |");
        System.out.println("|---|---|---|");
        List<Double> stage = seconds.get(Program.STAGE.ordinal());
        for (Program program : Program.values()) {
            List<Double> own = seconds.get(program.ordinal());
            List<Double> more = new ArrayList<>();
            for (int round = 0; round < own.size(); round++) {
                more.add(own.get(round) - stage.get(round));
            }
            System.out.printf(
                    "| %s | %s | %s |%n",
                    program.title, cell(own), program == Program.STAGE ? "" : cell(more));
        }
    }

    private static String cell(List<Double> values) {
        List<Double> sorted = values.stream().sorted().toList();
        return String.format(
                Locale.ROOT,
                "%.2f [%.2f..%.2f]",
                sorted.get(sorted.size() / 2),
                sorted.getFirst(),
                sorted.getLast());
    }
}
