/// The zip to unpack and use, with `horovodrun`, all jars, the documentation and the examples.
///
/// There are no classes here: `src/main/assembly` says what is in the zip, and a test uses it.
@NullMarked
package org.horovod4j.distribution;

import org.jspecify.annotations.NullMarked;
