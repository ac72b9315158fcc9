/// Example programs, one topic in each file.
///
/// Start with [Mnist], which trains a convolutional network with DJL on several processes. Then
///
/// - [FashionMnist]: a learning rate with warm-up and decay, checkpoints, and a restart from them;
/// - [AccumulateAndClip]: a training loop by hand, with accumulated and clipped gradients;
/// - [ElasticMnist]: processes that join and leave during training;
/// - [SyntheticBenchmark]: the training speed of known networks, with one or several processes;
/// - [FineTune]: a network from Python, trained further;
/// - [LargeData]: data that stay in files;
/// - [SkipGram]: vectors of words, of which processes exchange few rows in each step;
/// - [TensorFlowMnist]: the six steps with TensorFlow Java;
/// - [TensorFlowEstimator]: the same network in the style of Python's `tf.estimator`;
/// - [WordVectors]: [SkipGram] in a TensorFlow graph;
/// - [TensorFlowSyntheticBenchmark]: [SyntheticBenchmark] with TensorFlow Java;
/// - [Dl4jMnist]: the six steps with Deeplearning4j;
/// - [KerasMnist]: a network that Keras has written;
/// - [AdasumSmallModel]: Adasum beside the average of gradients;
/// - [MnistByHand]: plain Java without a framework;
/// - [Pi]: a program that starts its processes itself.
///
/// They share [MnistData], [MnistDataset] and [ExampleArguments]. [DigitNetwork] is the network of the
/// TensorFlow examples for digits. [BenchmarkModel] and [TensorFlowModel] have the networks of the
/// benchmarks, [ThroughputBenchmark] their options and statistics, [TensorFlowLayers] the layers of
/// TensorFlow networks. [Dl4jDigits] has digits as data of Deeplearning4j. [RecordFiles] has the data of [LargeData], [Vocabulary] and [WordPairs] those
/// of examples that learn vectors of words.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.compression`, `org.horovod4j.data`,
///   `org.horovod4j.elastic`, `org.horovod4j.training`, `org.horovod4j.djl`, `org.horovod4j.djl.elastic`, `org.horovod4j.djl.training`,
///   `org.horovod4j.launcher`, `org.horovod4j.launcher.function`, `org.horovod4j.tensorflow`,
///   `org.horovod4j.tensorflow.training`, `org.horovod4j.checkpoint`, `org.horovod4j.dl4j`,
///   `org.horovod4j.dl4j.keras`, `org.horovod4j.dl4j.training`, `ai.djl..`,
///   `org.deeplearning4j..`, `org.nd4j..`, `org.tensorflow..`.
/// - Invariant: a program shows all its calls of Horovod4J, in Horovod's six steps.
@NullMarked
package org.horovod4j.examples;

import org.jspecify.annotations.NullMarked;
